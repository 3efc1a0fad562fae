/** What is looked for, however it is looked for. */
export interface SearchQuery {
  pattern: string
  ignoreCase: boolean
  multiline: boolean
  mode: 'content' | 'files_with_matches' | 'count'
  /** Lines to show around each match. */
  before: number
  after: number
  /** Names of files to look into, as shell patterns without slashes; all if empty. */
  fileGlobs: readonly string[]
}

export interface MatchedLine {
  number: number
  text: string
  /** False for a line that is only shown for its neighbour. */
  isMatch: boolean
}

export interface FileMatches {
  /** From where the search began. */
  path: string
  count: number
  lines: MatchedLine[]
}

export interface SearchResult {
  files: FileMatches[]
  /** True when something had to be left out. */
  incomplete: boolean
}

/** A folder of the workspace, open for the time of a search. */
export interface SearchRoot {
  /** The open folder. */
  folder: string
  /** Its real path, for a program that starts in the workspace. */
  path: string
  segments: readonly string[]
}

export interface SearchEngine {
  name: 'ripgrep' | 'javascript'
  files(root: SearchRoot, signal: AbortSignal): Promise<string[]>
  search(root: SearchRoot, query: SearchQuery, signal: AbortSignal): Promise<SearchResult>
}

/** More than anyone reads; a search that finds more says so. */
export const MAX_SEARCH_BYTES = 32 * 1024 * 1024
