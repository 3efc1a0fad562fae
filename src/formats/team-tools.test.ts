import { describe, expect, test } from 'vitest'
import { parseTeamText } from './team-file.ts'

describe('the tools of a team file', () => {
  test('TF28 an unknown tool is a warning with a suggestion', async () => {
    const text = `name: T
agents:
  - { name: a, tools: [Read, Nonsense, mcp__files__read, files/read, collaborate], exclude_tools: [Wirte] }
  - name: b
    team: { name: In, agents: [{ name: i, tools: [web_search] }] }
`
    const { team, problems } = await parseTeamText({ text, path: 'team.yaml' })
    expect(team).toBeDefined()
    const toolWarnings = problems.filter(({ message }) => message.includes('built-in tool'))
    expect(toolWarnings.map(({ severity, line, message, hint }) => [severity, line, message, hint])).toEqual([
      ['warning', 3, "'Nonsense' is not a built-in tool", expect.stringMatching(/^did you mean '/)],
      ['warning', 3, "'Wirte' is not a built-in tool", "did you mean 'Write'?"],
      ['warning', 5, "'web_search' is not a built-in tool", "did you mean 'WebSearch'?"],
    ])
  })
})
