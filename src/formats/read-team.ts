import type { TeamFileResult } from './team-file.ts'

/** Reads a team file, with the files of teams inside it: the team for a run of `team`, and what is wrong at which line. */
export async function readTeamFile(
  path: string,
  options: { roster?: readonly string[] } = {},
): Promise<TeamFileResult> {
  // Loaded here: whoever only runs agents pays neither for YAML nor for schemas.
  const files = await import('./team-tree.ts')
  return files.readTeamTree(path, options)
}
