import { describe, expect, test } from 'vitest'
import { parseAgentFile } from './agent-file.ts'

const markdown = (...head: string[]) => `---\n${head.join('\n')}\n---\n\nDo it well.\n`

async function read(text: string, path = 'agents/scout.md', tools: string[] = []) {
  const file = await parseAgentFile(text, path, { tools })
  if (!file) throw new Error('not an agent file')
  return { agent: file.agent, warnings: file.problems.map(({ line, message }) => `${line}: ${message}`) }
}

const claude = (...head: string[]) => read(markdown('name: scout', 'description: d', ...head))
const copilot = (...head: string[]) => read(markdown('description: d', ...head), 'scout.agent.md')
const amplifier = (...head: string[]) => read(markdown('meta:', '  name: scout', '  description: d', ...head))

describe('dialects', () => {
  test('A8 a Copilot agent is named after its file; without frontmatter it is none', async () => {
    const { agent, warnings } = await copilot(
      'model: [GPT-5.4, Claude Sonnet 4.6]',
      'handoffs: [{label: Go, agent: b}]',
    )
    expect(agent).toMatchObject({ name: 'scout', model: 'GPT-5.4', origin: { dialect: 'copilot' } })
    expect(agent.extra).toEqual({
      model: ['GPT-5.4', 'Claude Sonnet 4.6'],
      handoffs: [{ label: 'Go', agent: 'b' }],
    })
    expect(warnings).toEqual([])
    expect(await parseAgentFile('Just do it.\n', 'scout.agent.md')).toBeUndefined()
    const placed = await read(markdown('description: d'), '.github/agents/scout.md')
    expect(placed.agent).toMatchObject({ name: 'scout', origin: { dialect: 'copilot' } })
  })

  test("A8 Copilot's agents key is kept: * means all agents, an empty list none", async () => {
    expect((await copilot("agents: ['a', 'b']")).agent.agents).toEqual(['a', 'b'])
    expect((await copilot("agents: ['*']")).agent.agents).toBeUndefined()
    expect((await copilot('agents: []')).agent.agents).toEqual([])
    const odd = await copilot('agents: {a: b}')
    expect(odd.agent.agents).toEqual([])
    expect(odd.warnings).toEqual([expect.stringContaining('may call no other agents')])
  })

  test("A8 Amplifier's model_role or providers becomes the model", async () => {
    expect((await amplifier('model_role: [coding, reasoning, general]')).agent.model).toBe('reasoning')
    expect((await amplifier('model_role: vision')).agent.model).toBe('vision')
    const own = ['providers:', '  - module: provider-anthropic', '    config: {default_model: claude-opus-5-5}']
    expect((await amplifier('model_role: fast', ...own)).agent.model).toBe('anthropic/claude-opus-5-5')
    expect((await amplifier('model_role: []')).warnings).toEqual([
      expect.stringContaining("'model_role' must be a string"),
    ])
  })

  test.each([
    ['a skill', 'skills/pdf/SKILL.md', ['name: pdf', 'description: d']],
    ['a command', 'commands/fix.md', ['description: d', 'allowed-tools: Bash', 'model: opus']],
    ['a command with argument-hint', 'commands/fix.md', ['description: d', 'argument-hint: "[n]"', 'model: opus']],
    ['a prompt', 'fix.prompt.md', ['description: d', 'tools: [edit]', 'model: x']],
    ['an issue template', 'bug.md', ['name: Bug', 'about: A bug', 'labels: bug']],
    ['an Amplifier bundle', 'bundle.md', ['bundle:', '  name: x', 'tools: []']],
    ['a page', 'page.md', ['layout: post', 'name: x', 'title: y']],
    ['a list', 'list.md', ['- name: a', '- name: b']],
  ])('A8 %s does not define an agent', async (_, path, head) => {
    expect(await parseAgentFile(markdown(...head), path)).toBeUndefined()
  })

  test('A8 a file inside a code block, or with blank lines before the frontmatter, is read with a warning', async () => {
    const inside = markdown('name: scout', 'description: d')
    const { agent, warnings } = await read(`\`\`\`chatagent\n${inside}\`\`\`\n`, 'x.agent.md')
    expect(agent).toMatchObject({ name: 'scout', instructions: 'Do it well.' })
    expect(warnings).toEqual([expect.stringMatching(/^2: .*first line/)])
    const late = await read(`\n\n${inside}`)
    expect(late.agent.name).toBe('scout')
    expect(late.warnings).toEqual([expect.stringMatching(/^3: /)])
  })
})

describe('tools', () => {
  test.each<[string, string, string[]]>([
    [
      'Claude Code',
      'Read, MultiEdit, LS, TodoWrite',
      ['Read', 'Edit', 'Glob', 'TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList'],
    ],
    ['Claude Code', 'Task, AskUserQuestion, TaskOutput', ['task', 'ask_user', 'task_result']],
    ['another case', 'read, GREP, web_search, webfetch, edit', ['Read', 'Grep', 'WebSearch', 'WebFetch', 'Edit']],
    ['space-separated lists', 'Read Grep Glob', ['Read', 'Grep', 'Glob']],
    ['Amplifier modules', '[tool-filesystem, tool-web]', ['Read', 'Write', 'Edit', 'Glob', 'WebFetch', 'WebSearch']],
    ['CrewAI classes', '[FileReadTool, SerperDevTool, ScrapeWebsiteTool]', ['Read', 'WebSearch', 'WebFetch']],
    [
      'MCP servers',
      'mcp__github__create_issue, mcp__docs, playwright/*',
      ['mcp__github__create_issue', 'mcp__docs', 'playwright/*'],
    ],
  ])("A9 tool names of %s are mapped to Troupe's tools: %s", async (_, list, tools) => {
    const { agent, warnings } = await claude(`tools: ${list}`)
    expect(agent.tools).toEqual(tools)
    expect(warnings).toEqual([])
  })

  test.each<[string, string[]]>([
    ['edit', ['Edit', 'Write']],
    ['edit/editFiles', ['Edit', 'Write']],
    ['edit/createFile', ['Write']],
    ['search', ['Grep', 'Glob']],
    ['search/codebase', ['Grep', 'Glob']],
    ['search/textSearch', ['Grep']],
    ['read/readFile', ['Read']],
    ['runCommands', ['Bash']],
    ['execute/runInTerminal', ['Bash']],
    ['fetch', ['WebFetch']],
    ['web', ['WebFetch', 'WebSearch']],
    ['todo', ['TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList']],
    ['agent/runSubagent', ['task']],
    ['problems', ['LSP']],
    ['Codacy MCP Server/*', ['Codacy MCP Server/*']],
    ['io.github.upstash/context7/*', ['io.github.upstash/context7/*']],
  ])("A9 Copilot's %s is mapped to Troupe's tools", async (name, tools) => {
    const { agent, warnings } = await copilot(`tools: ['${name}']`)
    expect(agent.tools).toEqual(tools)
    expect(warnings).toEqual([])
  })

  test('A10 an unknown tool grants nothing, is reported and kept in unknown_tools', async () => {
    const { agent, warnings } = await claude('tools: Read, Raed, SendMessage, vscode/memory, ../x, __proto__')
    expect(agent.tools).toEqual(['Read'])
    expect(agent.extra).toEqual({ unknown_tools: ['Raed', 'SendMessage', 'vscode/memory', '../x', '__proto__'] })
    expect(warnings).toEqual([expect.stringMatching(/^4: unknown tools are ignored: 'Raed', 'SendMessage'/)])
    expect((await claude('tools: Raed')).warnings).toEqual(["4: unknown tool 'Raed' is ignored; did you mean 'Read'?"])
    expect((await claude('tools: Raed')).agent.tools).toEqual([])
  })

  test('A10 tools of the program can be named, and narrow editor tools are not mapped to broader ones', async () => {
    const { agent } = await read(markdown('name: a', 'description: d', 'tools: lookup_order'), 'a.md', ['lookup_order'])
    expect(agent.tools).toEqual(['lookup_order'])
    const narrow = await copilot("tools: ['execute/runTests', 'edit/editNotebook', 'search/changes']")
    expect(narrow.agent.tools).toEqual([])
  })

  test('A10 entries that are not names are ignored, and a map switches tools on and off', async () => {
    const invalid = await claude('tools: [Read, 5, {source: x}, null]')
    expect(invalid.agent.tools).toEqual(['Read'])
    expect(invalid.warnings).toEqual([expect.stringContaining('not names')])
    const off = await claude('tools: {write: false, edit: false}')
    expect(off.agent).toMatchObject({ exclude_tools: ['Write', 'Edit'] })
    expect(off.agent.tools).toBeUndefined()
    expect((await claude('tools: {"*": false, read: true}')).agent.tools).toEqual(['Read'])
    expect((await claude('tools: {read: true, bash: false}')).agent).toMatchObject({
      tools: ['Read'],
      exclude_tools: ['Bash'],
    })
  })
})

describe('rules', () => {
  test('A11 a pattern in a tool list becomes an allow rule, unless the tool is also listed without one', async () => {
    const { agent } = await claude('tools: Read, Bash(npm test:*), Bash(git log:*, git diff:*), WebFetch(domain:x.org)')
    expect(agent.tools).toEqual(['Read', 'Bash', 'WebFetch'])
    expect(agent.permissions).toEqual({
      allow: ['Bash(npm test:*)', 'Bash(git log:*, git diff:*)', 'WebFetch(domain:x.org)'],
    })
    expect((await claude('tools: Bash, Bash(npm test:*)')).agent.permissions).toBeUndefined()
    expect((await copilot("tools: ['edit(src/**)']")).agent).toMatchObject({
      tools: ['Edit', 'Write'],
      permissions: { allow: ['Edit(src/**)', 'Write(src/**)'] },
    })
  })

  test('A11 a pattern among the exclusions becomes a deny rule and keeps the tool', async () => {
    const { agent, warnings } = await claude('disallowedTools: Write, Bash(rm:*), Task(deployer), Wirte')
    expect(agent.exclude_tools).toEqual(['Write', 'Wirte'])
    expect(agent.permissions).toEqual({ deny: ['Bash(rm:*)', 'task(deployer)'] })
    expect(warnings).toEqual([expect.stringMatching(/^4: 'disallowedTools' excludes unknown tools: 'Wirte'/)])
  })

  test('A11 Agent(a, b) restricts the agents that may be called', async () => {
    const { agent } = await claude('tools: Read, Agent(worker, helper)')
    expect(agent).toMatchObject({ tools: ['Read', 'task'], agents: ['worker', 'helper'] })
    expect(agent.permissions).toBeUndefined()
    expect((await claude('tools: Agent(worker), Task')).agent.agents).toBeUndefined()
  })

  test('A11 permissions are read as rules', async () => {
    const { agent } = await claude(
      'permissions:',
      '  allow: [Read]',
      '  ask: Bash',
      '  deny: ["Write(secret/**)", Nix]',
    )
    expect(agent.permissions).toEqual({ allow: ['Read'], ask: ['Bash'], deny: ['Write(secret/**)', 'Nix'] })
    const openCode = await claude('permission: {edit: deny, bash: {"git push": ask, "*": allow}}')
    expect(openCode.agent.permissions).toEqual({ deny: ['Edit'], ask: ['Bash(git push)'], allow: ['Bash'] })
  })

  test.each([
    ['permissions: all', '`permissions` must be a map: {allow: […], ask: […], deny: […]}'],
    ['permissions: {deny: 5}', '`deny` must be a list, or names separated by commas'],
    ['permission: {edit: maybe}', "`edit`: expected allow, ask or deny, not 'maybe'"],
    ['permission: {bash: {git: [ask]}}', '`bash`: expected allow, ask or deny, not a list'],
  ])('A11 %j rejects the agent, and the hint names the expected form', async (invalid, hint) => {
    await expect(claude(invalid)).rejects.toMatchObject({ code: 'invalid_agent_file', hint })
  })

  test('A11 permissionMode: plan makes the agent read-only; other modes grant nothing', async () => {
    expect((await claude('permissionMode: plan')).agent.read_only).toBe(true)
    const { agent, warnings } = await claude('permissionMode: acceptEdits')
    expect(agent.permissions).toBeUndefined()
    expect(agent.extra).toEqual({ permissionMode: 'acceptEdits' })
    expect(warnings).toHaveLength(1)
  })

  test('A12 MCP servers are kept by name with their configuration', async () => {
    const { agent } = await claude('mcpServers:', '  - github', '  - docs: {command: npx, args: [docs]}')
    expect(agent.mcp_servers).toEqual({ github: null, docs: { command: 'npx', args: ['docs'] } })
    const map = await copilot('mcp-servers: {docs: {type: http, url: "https://x.org"}}')
    expect(map.agent.mcp_servers).toEqual({ docs: { type: 'http', url: 'https://x.org' } })
    expect((await claude('mcpServers: 5')).warnings).toEqual([expect.stringContaining('must be a list of names')])
  })

  test('A12 unknown keys are kept in extra, and only near misses of known keys are reported', async () => {
    const keys = ['color: red', 'version: 1.2', 'tags: [a, b]', '__proto__: x', 'nothing: .nan', 'skils: [a]']
    const { agent, warnings } = await claude(...keys)
    expect(agent.extra).toMatchObject({ color: 'red', version: 1.2, tags: ['a', 'b'], nothing: null, skils: ['a'] })
    expect(Object.getPrototypeOf(agent.extra)).toBe(Object.prototype)
    expect(warnings).toEqual(["9: unknown key 'skils'; did you mean 'skills'?"])
    expect(JSON.parse(JSON.stringify(agent.extra))).toEqual(agent.extra)
  })

  test('A20 effort, performer, background, on_request and initialPrompt are read; invalid values are reported and ignored', async () => {
    const { agent, warnings } = await claude(
      'effort: HIGH',
      'performer: claude-code',
      'background: "yes"',
      'on_request: true',
      'initialPrompt: |',
      '  Look first.',
      '  Then do.',
    )
    expect(agent).toMatchObject({
      effort: 'high',
      performer: 'claude-code',
      background: true,
      on_request: true,
      initial_prompt: 'Look first.\nThen do.',
    })
    expect(warnings).toEqual([])
    const invalid = await claude(
      ...['effort: enormous', 'background: 7', 'initialPrompt: [a]', 'performer: [b]', 'on_request: perhaps'],
    )
    expect(invalid.warnings).toEqual([
      "4: 'effort' must be one of none, minimal, low, medium, high, xhigh, max; the default of the model is used",
      "5: 'background' must be true or false",
      "6: 'initialPrompt' must be a string",
      "7: 'performer' must be the name of a performer; the model loop carries out the turns",
      "8: 'on_request' must be true or false",
    ])
    const defaults = await claude('effort: default', 'background: false', 'initialPrompt:')
    expect(defaults.warnings).toEqual([])
    for (const { agent } of [invalid, defaults]) {
      expect([agent.effort, agent.background, agent.initial_prompt]).toEqual([undefined, undefined, undefined])
      expect(agent.on_request).toBeUndefined()
      expect(agent.performer).toBeUndefined()
    }
  })

  test('A20 top_p, seed, tool_choice and provider_options are read; invalid values are reported and ignored', async () => {
    const { agent, warnings } = await claude(
      ...[
        'top_p: 0.9',
        'seed: 7',
        'tool_choice: {tool: Read}',
        'provider_options: {anthropic: {sendReasoning: false}}',
      ],
    )
    expect(agent).toMatchObject({ top_p: 0.9, seed: 7, tool_choice: { tool: 'Read' } })
    expect(agent.provider_options).toEqual({ anthropic: { sendReasoning: false } })
    expect(warnings).toEqual([])
    expect((await claude('tool_choice: required')).agent.tool_choice).toBe('required')
    const invalid = await claude('top_p: 3', 'seed: 1.5', 'tool_choice: always', 'provider_options: {anthropic: 1}')
    expect(invalid.warnings.map((warning) => warning.slice(0, 14))).toEqual([
      ...["4: 'top_p' mus", "5: 'seed' must", "6: 'tool_choic", "7: 'provider_o"],
    ])
    expect(invalid.agent.tool_choice).toBeUndefined()
  })

  test('A20 unsupported keys are reported with the reason', async () => {
    const { warnings } = await claude('skills: [a]', 'hooks: {Stop: []}', 'memory: user')
    expect(warnings).toHaveLength(3)
    for (const warning of warnings) expect(warning).toMatch(/has no effect: \w+/)
  })

  test('A20 isolation is worktree or none', async () => {
    expect((await claude('isolation: none')).agent.isolation).toBeUndefined()
    const { agent, warnings } = await claude('isolation: container')
    expect(agent.isolation).toBeUndefined()
    expect(warnings).toEqual(["4: 'isolation' must be worktree or none"])
  })

  test('A12 every key of Claude Code is read or kept', async () => {
    const { agent } = await claude(
      ...['maxTurns: 3', 'skills: [x]', 'hooks: {}', 'memory: project', 'background: true', 'effort: high'],
      ...['isolation: worktree', 'initialPrompt: Hello', 'color: blue', 'temperature: 1', 'timeout_ms: 1000'],
    )
    expect(agent).toMatchObject({ max_turns: 3, temperature: 1, timeout_ms: 1000 })
    expect(agent).toMatchObject({ background: true, effort: 'high', initial_prompt: 'Hello', isolation: 'worktree' })
    expect(Object.keys(agent.extra ?? {}).sort()).toEqual(['color', 'hooks', 'memory', 'skills'])
  })
})
