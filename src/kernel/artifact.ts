/** One version of a named artifact. Versions of a name count up from 1. */
export interface ArtifactVersion {
  name: string
  version: number
  checksum: string
}

/** A reference to an artifact version: stored in results and messages instead of the content. */
export interface ArtifactRef extends ArtifactVersion {
  /** Bytes. */
  size: number
}

/** An artifact version with its content, as written by `artifact:write`. */
export interface Artifact extends ArtifactRef {
  key: string
  media_type: string
  content: string
  by: string
}
