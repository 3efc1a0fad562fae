import { parseTeamText } from '../../src/formats/team-file.ts'

export const parseTeamYaml = (text: string, roster?: readonly string[]) =>
  parseTeamText({ text, path: 'team.yaml', ...(roster && { roster }) })

/** Each problem as one line: `error 3:5 message | hint`. */
export async function problemLines(text: string, roster?: readonly string[]): Promise<string[]> {
  const { problems } = await parseTeamYaml(text, roster)
  return problems.map(
    ({ severity, line, column, message, hint }) =>
      `${severity} ${line}:${column} ${message}${hint === undefined ? '' : ` | ${hint}`}`,
  )
}

/** A team of writer and reviewer, with more lines. */
export const teamYaml = (...lines: string[]) =>
  ['name: T', 'agents:', '  - name: writer', '  - name: reviewer', ...lines, ''].join('\n')
/** The same team with a handoff from writer to reviewer; more lines start with further handoffs. */
export const linkedTeamYaml = (...lines: string[]) =>
  teamYaml('handoffs:', '  - { from_agent: writer, to_agent: reviewer }', ...lines)
