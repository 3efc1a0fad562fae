import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseAgentFile } from './agent-file.ts'
import { loadAgents } from './find-agents.ts'

/*
 * Agent files from public repositories, compared with the hand-written `expected.json`. The body is given by the line it
 * begins in.
 */

interface Expected {
  file: string
  agent: { name: string; dialect: string; description: string; tools: string[] | null; model: string | null } | null
  body_begins_in_line?: number
  warnings?: [number, string][]
}

const folder = fileURLToPath(new URL('../../test/fixtures/agents/', import.meta.url))
const json = async (name: string) => JSON.parse(await readFile(join(folder, name), 'utf8')) as unknown
const expected = (await json('expected.json')) as Expected[]

describe('real agent files', () => {
  test('A8 every file of the manifest exists and has an expectation', async () => {
    const manifest = (await json('MANIFEST.json')) as { file: string }[]
    const existing = (await readdir(folder, { recursive: true })).filter((name) => /\/.*\.md$/.test(name))
    const listed = manifest.map(({ file }) => file).sort()
    expect(listed).toHaveLength(33)
    expect(existing.sort()).toEqual(listed)
    expect(expected.map(({ file }) => file).sort()).toEqual(listed)
  })

  test.each(expected.map((each) => [each.file, each] as const))('A8 %s is parsed as expected', async (file, each) => {
    const text = await readFile(join(folder, file), 'utf8')
    const parsed = await parseAgentFile(text, file)
    if (!each.agent) return expect(parsed).toBeUndefined()
    const { name, description, tools = null, model = null, instructions, origin } = parsed?.agent ?? {}
    const { dialect, ...fields } = each.agent
    expect({ name, description, tools, model }).toEqual(fields)
    expect(origin).toEqual({ by: 'user', path: file, dialect })
    const lines = text.split('\n').slice((each.body_begins_in_line ?? 0) - 1)
    expect(instructions).toBe(lines.join('\n').trim())
    const warnings = parsed?.problems.map(({ line, message }) => [line, message])
    expect(warnings).toEqual(each.warnings)
    return undefined
  })

  test('A8 the whole folder loads without errors, every agent under its own name', async () => {
    const { agents, problems } = await loadAgents(folder)
    expect(agents.map(({ name }) => name)).toEqual(expected.flatMap(({ agent }) => (agent ? [agent.name] : [])))
    expect(problems.filter(({ level }) => level === 'error')).toEqual([])
    const positions = problems.map(({ path, line }) => `${path.slice(folder.length)}:${line}`)
    expect(positions).toContain('amplifier/agents__file-ops.md:4')
    expect(positions).toContain('claude-voltagent/categories__10-research-analysis__cohort-analysis.md:3')
  })
})
