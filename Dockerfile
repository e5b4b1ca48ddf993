# The container image: the single executable, the system's libraries that it is linked with, and nothing else. There is no
# shell in it. `npm run build:image` gathers its two folders below build/image and builds it.
FROM scratch
COPY root /
COPY --chown=65532:65532 data /data
USER 65532:65532
ENV HOST=0.0.0.0 PORTOLAN_HOME=/data
# Nothing is written outside this folder, so the file system may be read-only.
VOLUME /data
WORKDIR /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/portolan", "health"]
ENTRYPOINT ["/portolan"]
CMD ["serve"]
