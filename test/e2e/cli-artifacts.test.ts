import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireSandbox } from '../support/require-program.ts'
import type { CliFixture } from './cli-fixture.ts'
import { createCliFixture } from './cli-fixture.ts'

const LONG = 60_000

const TEAM = `name: Desk
agents: [{ name: writer }, { name: editor }]
handoffs: [{ from_agent: writer, to_agent: editor }]
after_work_behavior: terminate
`

/** The writer stores an artifact and a file, the editor changes the file. */
const script = [
  {
    when: { agent: 'writer', turn: 1 },
    reply: { toolCalls: [{ name: 'ArtifactWrite', input: { name: 'plan', content: 'Write, then edit.\n' } }] },
  },
  {
    when: { agent: 'writer', turn: 2 },
    reply: { toolCalls: [{ name: 'Write', input: { file_path: 'docs/text.md', content: 'First.\n' } }] },
  },
  { when: { agent: 'writer' }, reply: { text: 'Written.' } },
  {
    when: { agent: 'editor', turn: 1 },
    reply: { toolCalls: [{ name: 'Read', input: { file_path: 'docs/text.md' } }] },
  },
  {
    when: { agent: 'editor', turn: 2 },
    reply: {
      toolCalls: [
        { name: 'Edit', input: { file_path: 'docs/text.md', old_string: 'First.', new_string: 'Second.' } },
        { name: 'ArtifactRead', input: { name: 'docs/text.md', version: 1 } },
      ],
    },
  },
  { when: { agent: 'editor' }, reply: { text: 'Edited.' } },
]

async function runDesk(
  cli: CliFixture,
): Promise<{ run_id: string; output: { artifacts: string[]; history: object[] } }> {
  await cli.write('desk.yaml', TEAM)
  const model = await cli.script('s.json', script)
  const permissions = ['--allow', 'Write(docs/*)', '--allow', 'Edit(docs/*)']
  const { out, code } = await cli.troupe(
    'run',
    'team',
    'Go.',
    '--team',
    'desk.yaml',
    '--model',
    model,
    ...permissions,
    '--json',
  )
  expect(code).toBe(0)
  return JSON.parse(out)
}

test('TM54 members have the artifact tools, and files they write are artifacts', { timeout: LONG }, async () => {
  const cli = await createCliFixture()
  const { run_id, output } = await runDesk(cli)
  expect(output.artifacts).toEqual(['plan@1', 'docs/text.md@1', 'docs/text.md@2'])
  expect(output.history.slice(1)).toMatchObject([
    { agent_name: 'writer', artifacts: ['plan@1', 'docs/text.md@1'] },
    { agent_name: 'editor', artifacts: ['docs/text.md@2'] },
  ])
  const shown = await cli.troupe('show', run_id, '--events', '--json')
  expect(shown.out).toMatch(/"content":"First\.\\n"/)
})

test('TM54 files that a member writes with Bash are artifacts', { timeout: LONG }, async () => {
  requireSandbox()
  const cli = await createCliFixture()
  await cli.write('desk.yaml', TEAM)
  const command = 'mkdir -p docs && echo First. > docs/text.md'
  const model = await cli.script('s.json', [
    { when: { agent: 'writer', turn: 1 }, reply: { toolCalls: [{ name: 'Bash', input: { command } }] } },
    { when: { agent: 'writer' }, reply: { text: 'Written.' } },
    { when: { agent: 'editor' }, reply: { text: 'Read.' } },
  ])
  const flags = ['--team', 'desk.yaml', '--model', model, '--allow', 'Bash', '--json']
  const { out, code } = await cli.troupe('run', 'team', 'Go.', ...flags)
  expect(code).toBe(0)
  const { run_id, output } = JSON.parse(out)
  expect(output.artifacts).toEqual(['docs/text.md@1'])
  expect((await cli.troupe('artifacts', run_id, 'docs/text.md')).out).toBe('First.\n')
})

test('L62 artifacts lists the artifacts of a run and prints one', { timeout: LONG }, async () => {
  const cli = await createCliFixture()
  const { run_id } = await runDesk(cli)
  const listed = await cli.troupe('artifacts', run_id)
  expect(listed.code).toBe(0)
  expect(listed.out).toMatch(/^name +version +agent +bytes +checksum +age/)
  expect(listed.out).toMatch(/plan +1 +writer +18 +[0-9a-f]{12} +\S+/)
  expect(listed.out).toMatch(/docs\/text\.md +2 +editor +8 +[0-9a-f]{12}/)
  expect(JSON.parse((await cli.troupe('artifacts', '--json')).out)).toMatchObject([
    { name: 'plan', version: 1, by: 'writer', size: 18, checksum: expect.stringMatching(/^[0-9a-f]{64}$/) },
    { name: 'docs/text.md', version: 1 },
    { name: 'docs/text.md', version: 2 },
  ])
  expect(await cli.troupe('artifacts', run_id, 'docs/text.md')).toMatchObject({ code: 0, out: 'Second.\n' })
  expect((await cli.troupe('artifacts', run_id, 'docs/text.md', '--version', '1')).out).toBe('First.\n')
  expect((await cli.troupe('artifacts', run_id, 'docs/text.md@1')).out).toBe('First.\n')
  const saved = await cli.troupe('artifacts', run_id, 'plan', '--out', 'plan.txt')
  expect(saved).toMatchObject({ code: 0, out: '', err: 'plan@1: 18 bytes written to plan.txt\n' })
  expect(await readFile(join(cli.folder, 'plan.txt'), 'utf8')).toBe('Write, then edit.\n')
})

test('L62 a wrong name, version or flag is explained', { timeout: LONG }, async () => {
  const cli = await createCliFixture()
  const { run_id } = await runDesk(cli)
  expect((await cli.troupe('artifacts', run_id, 'plam')).err).toMatch(/no artifact 'plam'; known: plan/)
  expect((await cli.troupe('artifacts', run_id, 'plan', '--version', '7')).err).toMatch(
    /no artifact 'plan@7'; known: plan@1/,
  )
  expect((await cli.troupe('artifacts', run_id, 'plan', '--version', 'x')).err).toMatch(/--version x is not a version/)
  expect((await cli.troupe('artifacts', run_id, 'plan@7')).err).toMatch(/no artifact 'plan@7'; known: plan@1/)
  const unwritable = await cli.troupe('artifacts', run_id, 'plan', '--out', 'no/such/folder')
  expect(unwritable).toMatchObject({ code: 2, err: expect.stringMatching(/--out no\/such\/folder cannot be written/) })
  expect((await cli.troupe('artifacts', run_id, '--out', 'x')).err).toMatch(/--out needs the name of an artifact/)
  expect(await cli.troupe('artifacts', 'r_unknown')).toMatchObject({ code: 2, err: expect.stringMatching(/no run/) })
})
