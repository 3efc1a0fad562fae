import { describe, expect, test } from 'vitest'
import { parseTeamText } from './team-file.ts'

describe('the tools of a team file', () => {
  test('TF28 a tool that nothing answers to is warned of, with the one that was meant', async () => {
    const text = `name: T
agents:
  - { name: a, tools: [Read, Nonsense, mcp__files__read, files/read, collaborate], exclude_tools: [Wirte] }
  - name: b
    team: { name: In, agents: [{ name: i, tools: [web_search] }] }
`
    const { team, problems } = await parseTeamText({ text, path: 'team.yaml' })
    expect(team).toBeDefined()
    const ofTools = problems.filter(({ message }) => message.startsWith('no tool'))
    expect(ofTools.map(({ severity, line, message, hint }) => [severity, line, message, hint])).toEqual([
      ['warning', 3, "no tool 'Nonsense' comes with Troupe", expect.stringMatching(/^did you mean '/)],
      ['warning', 3, "no tool 'Wirte' comes with Troupe", "did you mean 'Write'?"],
      ['warning', 5, "no tool 'web_search' comes with Troupe", "did you mean 'WebSearch'?"],
    ])
  })
})
