export interface SearchQuery {
  pattern: string
  ignoreCase: boolean
  multiline: boolean
  mode: 'content' | 'files_with_matches' | 'count'
  /** Context lines before and after each match. */
  before: number
  after: number
  /** A glob without slashes for file names. */
  fileGlob?: string
  /** A name of `rg --type-list`. */
  fileType?: string
}

export interface MatchedLine {
  number: number
  text: string
  /** False for a context line. */
  isMatch: boolean
}

export interface FileMatches {
  /** Relative to the search root. */
  path: string
  count: number
  lines: MatchedLine[]
}

export interface SearchResult {
  files: FileMatches[]
  /** True when files or matches had to be omitted. */
  incomplete: boolean
}

/** A folder of the workspace that is held open during a search. */
export interface SearchRoot {
  /** Path through the open descriptor: safe against symlink races. */
  folder: string
  /** The real path, for a child process. */
  path: string
  segments: readonly string[]
  /** The descriptor of the only file to search. */
  file?: number
}

/** Bounds the output; a larger result is marked as incomplete. */
export const MAX_SEARCH_BYTES = 32 * 1024 * 1024
