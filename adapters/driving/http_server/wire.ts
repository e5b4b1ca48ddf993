/** Bytes on their way out. A text is ASCII: the runtime sends texts faster than the bytes of the same. */
export type Piece = string | Uint8Array

/** What a connection needs of the runtime's socket. */
export interface Wire {
  /** Bytes taken at once; the rest must be offered again. Negative when the socket is closed. */
  readonly write: (piece: Piece) => number
  readonly pause: () => void
  readonly resume: () => void
  /** Ends our half; the peer's stays open until it ends it. */
  readonly end: () => void
  /** Drops the connection. */
  readonly terminate: () => void
}
