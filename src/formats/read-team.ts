import type { TeamFileResult } from './team-file.ts'

/** Reads a team file with its sub-team files; returns the team for the `team` pattern and the problems by line. */
export async function readTeamFile(
  path: string,
  options: { roster?: readonly string[] } = {},
): Promise<TeamFileResult> {
  // Loaded on demand: YAML and the team schema are heavy, and most programs do not read team files.
  const { readTeamTree } = await import('./team-tree.ts')
  return readTeamTree(path, options)
}
