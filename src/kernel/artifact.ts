/** A named, versioned piece of work: referred to, not embedded. The newest version is the one with the highest number. */
export interface Artifact {
  key: string
  name: string
  version: number
  media_type: string
  content: string
  checksum: string
  by: string
}

/** How one piece of work is referred to. */
export interface ArtifactRef {
  name: string
  version: number
  checksum: string
  size: number
}
