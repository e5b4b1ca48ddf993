# What schemathesis does not know by itself: lines of JSON are sent as text.
import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
