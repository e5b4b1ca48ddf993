import { Context } from "effect"

/**
 * Limits the platform documents. Its pages contradict each other and change, so each limit can be set. The publish quota
 * is not among them: it is read from the platform.
 *
 * @see specification 8, which does not tell the limits of media containers
 */
export interface MediaLimits {
  /** Children of a carousel. */
  readonly childrenMin: number
  readonly childrenMax: number
  /** Unicode code points of a caption; more is certain to be refused. */
  readonly captionMax: number
  /** `#` and `@` in a caption; more leads to a warning, because how the platform counts them is not documented. */
  readonly hashtagsMax: number
  readonly mentionsMax: number
  readonly productTagsMax: number
  readonly collaboratorsMax: number
  /** Unicode code points of an alternative text. */
  readonly altTextMax: number
  /** Bytes of a request target (path and query). Common servers stop reading between 16 and 19 KiB. */
  readonly targetBytesMax: number
}

/** How careful and how patient the media use cases are. */
export interface MediaRules {
  readonly limits: MediaLimits
  /** Refuse what is only doubtful: every warning becomes a broken rule. */
  readonly strict: boolean
  /** Accept `http://` addresses of media files. */
  readonly allowHttpMedia: boolean
  /** Children created at the same time, 1..5. */
  readonly childConcurrency: number
  /** Longest single pause for the platform's rate limit before the call is given back to the caller, ms. */
  readonly pauseMaxMs: number
}

/** The rules where nothing else is set. */
export const DEFAULT_MEDIA_RULES: MediaRules = {
  limits: {
    childrenMin: 2,
    childrenMax: 10,
    captionMax: 2200,
    hashtagsMax: 30,
    mentionsMax: 20,
    productTagsMax: 20,
    collaboratorsMax: 3,
    altTextMax: 1000,
    targetBytesMax: 15_000,
  },
  strict: false,
  allowHttpMedia: false,
  childConcurrency: 3,
  pauseMaxMs: 300_000,
}

/** The rules of the running use case; {@link DEFAULT_MEDIA_RULES} where none are provided. */
export const MediaPolicy = Context.Reference<MediaRules>("portolan/domain/media/MediaPolicy", {
  defaultValue: () => DEFAULT_MEDIA_RULES,
})

/** A container expires when it is not published within this time. */
export const CONTAINER_LIFETIME_MS = 24 * 3_600_000

/** A container is used again only while at least this much of its life is left. */
export const REUSE_MARGIN_MS = 3_600_000
