import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import type { Model, ModelChunk } from '../../src/entries/models.ts'
import type { ModelRequest } from '../../src/kernel/model.ts'

/*
 * Measures the tree ROOT by running it: `node process-figures.ts ROOT`, in an empty folder and with an empty home folder, since a configuration adds
 * commands and files. The last line that it prints is a `ProcessFigures`.
 */

export interface ProcessFigures {
  /** Files of src that `troupe run task` loads when the agent delegates once. */
  loaded: string[]
  /** The options of each command, its path first: `run task`. Groups of commands have no action. */
  commands: { path: string; flags: string[]; isGroup: boolean }[]
  /** Types of the events of a run of `consult` with one specialist. */
  events: string[]
  /** In the first request of an agent with a workspace. */
  tools: { name: string }[]
}

const [root = ''] = process.argv.slice(2)
const rootUrl = pathToFileURL(join(root, '/')).href
const load = (path: string) => import(new URL(path, rootUrl).href)

const loaded = await measureLoadedFiles()
const commands = await measureCommands()
const [events, tools] = await measureRuns()
console.log(`\n${JSON.stringify({ loaded, commands, events, tools } satisfies ProcessFigures)}`)

async function measureLoadedFiles(): Promise<string[]> {
  const urls: string[] = []
  const prefix = new URL('src/', rootUrl).href
  registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith(prefix)) urls.push(url.slice(rootUrl.length))
      return nextLoad(url, context)
    },
  })
  const toolCalls = [{ name: 'task', input: { agent: 'researcher', instruction: 'Find it.' } }]
  const rules = [
    { when: { agent: 'researcher' }, reply: { text: 'Found.' } },
    { when: { turn: 1 }, reply: { toolCalls } },
    { reply: { text: 'Done.' } },
  ]
  writeFileSync('script.json', JSON.stringify({ rules }))
  process.argv = [process.execPath, 'troupe', 'run', 'task', '--no-sandbox', '--model', 'scripted:script.json', 'Go.']
  await load('src/surfaces/cli/main.ts')
  if (process.exitCode !== 0) throw new Error(`troupe run task ended with ${process.exitCode}`)
  return [...urls]
}

/** Reads the commands when they would parse their arguments. */
async function measureCommands(): Promise<ProcessFigures['commands']> {
  const commander = createRequire(join(root, 'package.json')).resolve('commander')
  const { Command: prototype } = await import(pathToFileURL(commander).href)
  let program: Command | undefined
  prototype.prototype.parseAsync = async function (this: Command) {
    program = this
  }
  const { main } = await load('src/surfaces/cli/program.ts')
  await main(['run', '--help'])
  return program ? commandsBelow(program, 'troupe') : []
}

function commandsBelow(command: Command, path: string): ProcessFigures['commands'] {
  const flags = command.options.map(({ long, short }) => long ?? short ?? '')
  const below = command.commands.flatMap((sub) => commandsBelow(sub, `${path} ${sub.name()}`))
  return [{ path, flags, isGroup: below.length > 0 }, ...below]
}

async function measureRuns(): Promise<[events: string[], tools: ProcessFigures['tools']]> {
  const { createTroupe } = await load('src/index.ts')
  const requests: ModelRequest[] = []
  const route = { needed: 'the API', agents: ['backend_developer'], reason: 'api_clarification', rationale: '' }
  const answers: Record<string, object> = {
    orchestrator: { ...route, confidence: 1 },
    backend_developer: { answer: '409', confidence: 1 },
  }
  const model: Model = {
    name: 'double',
    async *stream(request): AsyncGenerator<ModelChunk> {
      requests.push(request)
      yield { type: 'text', text: JSON.stringify(answers[request.session.agent] ?? 'Done.') }
      const usage = { input: 1, output: 1, cache_read: 0, cache_write: 0, reasoning: 0 }
      yield { type: 'finish', stop: 'end', usage }
    },
  }
  mkdirSync('workspace')
  const workspace = { workspace: 'workspace', sandbox: 'none' }
  const troupe = await createTroupe({ store: 'memory', model, embedder: false, workspace })
  const { run_id, status } = await troupe.run('consult', { question: 'Which status does a conflict have?' })
  if (status !== 'completed') throw new Error(`the consultation ended as ${status}`)
  const events: { type: string }[] = await troupe.events(run_id).all()
  requests.length = 0
  await troupe.run('task', { agent: 'default', instruction: 'Go.' })
  await troupe.close()
  return [events.map(({ type }) => type), [...(requests[0]?.tools ?? [])]]
}
