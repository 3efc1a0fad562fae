import { readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporary } from '../mcp-scene.ts'
import type { Stage } from '../stage.ts'
import { agent, lastInput, playing, stage } from '../stage.ts'

/* What servers may do that agents bring, in runs whose operator asks to be asked. */

const MODULES = realpathSync(fileURLToPath(new URL('../../node_modules', import.meta.url)))
const FILES = join(MODULES, '@modelcontextprotocol/server-filesystem/dist/index.js')

interface Rights {
  folder: string
  heard: string[]
  theatre: Stage
}

/** An agent that brings a server, and calls its tools one after the other. */
async function bringing(calls: { name: string; input: unknown }[], more: Parameters<typeof agent>[1]): Promise<Rights> {
  const folder = realpathSync(temporary())
  writeFileSync(join(folder, 'note.txt'), 'the blue one')
  const heard: string[] = []
  const model = playing((request) => {
    heard.push(lastInput(request))
    const call = calls[request.session.turn - 1]
    return call ? { calls: [call] } : { text: 'done' }
  })
  // Written by its start alone, before any call.
  const script = 'echo x > started.txt; exec "$@"'
  const files = { command: 'sh', args: ['-c', script, 'sh', process.execPath, FILES, folder] }
  const theatre = await stage({
    model,
    workspace: { workspace: folder, sandbox: { read: [MODULES] } },
    agents: [agent('clerk', { ...more, mcp_servers: { files } })],
    permissions: { mode: 'ask' },
  })
  return { folder, heard, theatre }
}

const read = { name: 'mcp__files__read_text_file', input: { path: 'note.txt' } }
const write = { name: 'mcp__files__write_file', input: { path: 'made.txt', content: 'x' } }

test('MC46 a server that an agent brings reads the workspace and cannot write to it, not even by its start', async () => {
  const { folder, heard, theatre } = await bringing([read, write], { tools: ['Read', 'Write', read.name, write.name] })
  try {
    await theatre.task('clerk', 'copy it')
    expect(heard[1]).toContain('the blue one')
    expect(heard[2]).toMatch(/EROFS|read-only/i)
    expect(readdirSync(folder).filter((name) => !name.startsWith('.'))).toEqual(['note.txt'])
  } finally {
    await theatre.troupe.close()
  }
})

test('MC47 a call is asked for, and refused in plan mode, also where its server says that it only reads', async () => {
  const asked = await bringing([read], { tools: ['Read'] })
  try {
    const waiting = await asked.theatre.task('clerk', 'look')
    expect(waiting.status).toBe('waiting')
    expect(asked.heard.join('\n')).not.toContain('the blue one')
  } finally {
    await asked.theatre.troupe.close()
  }
  const planning = await bringing([read], { tools: ['Read', read.name], read_only: true })
  try {
    await planning.theatre.task('clerk', 'look')
    expect(planning.heard[1]).toContain('refused')
    expect(planning.heard.join('\n')).not.toContain('the blue one')
  } finally {
    await planning.theatre.troupe.close()
  }
})
