import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { loadAgents } from './find-agents.ts'
import { parseRosterFile } from './roster-file.ts'

const folder = fileURLToPath(new URL('../../test/fixtures/rosters/', import.meta.url))

async function load(name: string) {
  const { agents, problems } = await loadAgents(`${folder}${name}`)
  return { agents, warnings: problems.map(({ line, message, agent }) => `${line} ${agent}: ${message}`) }
}

describe('YAML rosters', () => {
  test("A13 CrewAI's agents are read: role, goal and backstory become description and instructions", async () => {
    const { agents, warnings } = await load('agents.yaml')
    expect(agents.map(({ name }) => name)).toEqual(['researcher', 'writer', 'editor'])
    expect(agents[0]).toMatchObject({
      name: 'researcher',
      description: 'Senior researcher for {topic}: Find five sources on {topic} that can be trusted',
      instructions: [
        'You are Senior researcher for {topic}.',
        'You have read more than you can remember.\nYou never cite what you did not open.',
        'Your goal: Find five sources on {topic} that can be trusted',
      ].join('\n\n'),
      tools: ['WebSearch', 'WebFetch', 'Read'],
      model: 'openai/gpt-5',
      max_turns: 12,
      timeout_ms: 90_000,
      agents: [],
      origin: { by: 'user', dialect: 'crewai' },
      extra: { verbose: true, max_rpm: 30, unknown_tools: ['CodeInterpreterTool'] },
    })
    expect(agents[1]).toMatchObject({ model: 'anthropic/claude-sonnet-5-5', temperature: 0.4 })
    expect(agents[1]?.agents).toBeUndefined()
    expect(agents[1]?.instructions).toContain('You write: short, plain, true')
    expect(agents[2]?.instructions).toBe('You are Editor.\n\nYour goal: Shorten it')
    expect(warnings).toEqual([
      expect.stringMatching(/^2 researcher: unknown tool 'CodeInterpreterTool'/),
      expect.stringMatching(/^2 researcher: placeholders such as \{topic\}/),
      expect.stringMatching(/^27 writer: 'backstory' is not valid YAML/),
    ])
  })

  test("A13 a team's agents are read; entries that only name an agent are not", async () => {
    const { agents, warnings } = await load('team.yaml')
    expect(agents.map(({ name }) => name)).toEqual(['scribe', 'checker', 'layouter', 'printer'])
    expect(agents[0]).toMatchObject({
      description: 'Drafts the text',
      instructions: 'You draft texts.\n\nSay when the draft is complete.',
      tools: ['WebSearch', 'Write', 'WebFetch'],
      model: 'deepseek/deepseek-chat',
      temperature: 0.4,
      origin: { dialect: 'agentx' },
    })
    expect(agents[1]).toMatchObject({
      description: 'Checks every fact',
      instructions: 'You are checker, a member of the team Content.\n\nYour role: Checks every fact',
    })
    expect(agents[2]?.instructions).toBe('You format texts.\n\nNothing else.')
    expect(agents[3]?.instructions).toContain('Prints it')
    expect(warnings).toEqual([
      expect.stringMatching(/^20 printer: cannot read the instructions of 'printer' from prompts\/missing\.md/),
    ])
  })

  test('A13 a list, a single agent and YAML anchors are read', async () => {
    const list = await load('list.yml')
    expect(list.agents).toMatchObject([
      { name: 'Market researcher', tools: ['Read'], origin: { dialect: 'crewai' } },
      { name: 'analyst', description: 'Analyst: Explain numbers' },
    ])
    expect((await load('solo.yaml')).agents).toMatchObject([
      { name: 'greeter', description: 'Says hello', model: 'fast', instructions: 'You say hello.' },
    ])
    expect((await load('shared-settings.yaml')).agents).toMatchObject([
      { name: 'first', model: 'fast', agents: [] },
      { name: 'second', model: 'reasoning', agents: [] },
    ])
  })

  test.each(['tasks.yaml', 'compose.yaml'])('A13 %s defines no agent and is not an error', async (name) => {
    expect(await load(name)).toEqual({ agents: [], warnings: [] })
  })

  test('A13 instructions are read through readSibling only, and an unreadable file is reported', async () => {
    const requested: string[] = []
    const text = 'agents:\n  - name: a\n    description: d\n    prompt_template: ../../secret.md\n'
    const { agents } = await parseRosterFile(text, 'team.yaml', {
      readSibling: async (path) => {
        requested.push(path)
        return undefined
      },
    })
    expect(requested).toEqual(['../../secret.md'])
    const [file] = agents
    expect(file?.agent.instructions).not.toContain('secret')
    expect(file?.problems).toHaveLength(1)
  })

  test('A13 an invalid roster is an error with its line', async () => {
    const text = 'name: t\nagents:\n  - name: a\n    role: b: c\n   tools: [\n'
    const { agents, problems } = await parseRosterFile(text, 'team.yaml')
    expect(agents).toEqual([])
    expect(problems).toEqual([{ level: 'error', line: expect.any(Number), message: 'not valid YAML' }])
  })
})
