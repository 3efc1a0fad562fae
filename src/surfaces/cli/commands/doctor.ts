import { asTroupeError } from '../../../errors.ts'
import type { Detected, Troupe } from '../../../index.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { findRun } from '../find.ts'
import type { TestCall } from '../model-checks.ts'
import { callCheck, callModels, detectedModels, modelChecks, roleModels } from '../model-checks.ts'
import { openTroupe, storeExists, storePath } from '../open.ts'
import { counted } from '../render/amounts.ts'
import type { Check } from '../render/checks.ts'
import { checkLines } from '../render/checks.ts'
import { told } from '../render/error.ts'
import { ownAgents } from '../roster.ts'

/** Looks whether everything a run needs is in order; with a run, whether its journal is. */
export async function doctor(cli: Cli<{ run?: string; call?: true | string[] }>): Promise<number> {
  const models = await detectedModels(cli)
  const calls = await testCalls(cli, models)
  const checks: Check[] = [nodeCheck(), ...modelChecks(models), ...calls.map(callCheck)]
  checks.push(await sandboxCheck(), await searchCheck())
  let troupe: Troupe | undefined
  try {
    troupe = await openTroupe(cli, 'existing')
    checks.push(await storeCheck(cli, troupe), ...(await agentChecks(cli, troupe)), ...serverChecks(troupe))
    if (cli.options.run !== undefined) checks.push(...(await journalChecks(cli, troupe, cli.options.run)))
  } catch (thrown) {
    const error = asTroupeError(thrown)
    if (error.code === 'unknown_run' || error.code === 'invalid_input') throw error
    checks.push({
      what: error.code.startsWith('store_') ? 'store' : 'start',
      state: 'bad',
      words: told(error),
      hint: error.hint,
    })
  } finally {
    await troupe?.close()
  }
  const healthy = checks.every(({ state }) => state !== 'bad')
  if (cli.options.json) printJson(cli, { healthy, checks, models, calls })
  else for (const line of checkLines(checks, cli.terminal.out)) cli.terminal.print(line)
  return healthy ? EXIT.done : EXIT.failed
}

function nodeCheck(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const fits = major > 22 || (major === 22 && minor >= 18)
  const hint = fits ? '' : 'Troupe needs Node 22.18 or newer; a clone brings its own: use npm run or npx'
  return { what: 'node', state: fits ? 'ok' : 'bad', words: process.version, hint }
}

/** Without a sandbox agents have no commands: worth knowing, and no fault. */
async function sandboxCheck(): Promise<Check> {
  const { sandboxReport } = await import('../../../compose.ts')
  const { available, kind, problems } = await sandboxReport({ network: false })
  if (available) return { what: 'sandbox', state: 'ok', words: kind, hint: '' }
  const hint = 'without it agents run no commands; --no-sandbox lets them, unconfined'
  return { what: 'sandbox', state: 'note', words: problems.join('; '), hint }
}

/** Which service searches the web, or what to set for one; nothing is searched for to find out. */
async function searchCheck(): Promise<Check> {
  const { searchService } = await import('../../../index.ts')
  try {
    const service = await searchService(process.env)
    if (!service) {
      const hint = 'for WebSearch set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL'
      return { what: 'search', state: 'note', words: 'no service is set up', hint }
    }
    const words = `${service.name} at ${service.host}; used by runs with --allow-host ${service.host}`
    return { what: 'search', state: 'ok', words, hint: '' }
  } catch (thrown) {
    const error = asTroupeError(thrown)
    return { what: 'search', state: 'bad', words: told(error), hint: error.hint }
  }
}

/** Only when asked for: calls cost money, and need a network. */
async function testCalls(cli: Cli<{ call?: true | string[] }>, models: Detected): Promise<TestCall[]> {
  const { call } = cli.options
  return call === undefined ? [] : callModels(call === true ? roleModels(models) : call)
}

async function storeCheck(cli: Cli, troupe: Troupe): Promise<Check> {
  if (!storeExists(cli)) {
    return { what: 'store', state: 'ok', words: `${storePath(cli)} is not there yet; the first run makes it`, hint: '' }
  }
  const problems = await troupe.store.check()
  const { location } = troupe.store
  if (problems.length === 0) {
    const runs = await troupe.runs({ limit: 1000 })
    const many = runs.length === 1000 ? '1,000 runs or more' : counted(runs.length, 'run')
    return { what: 'store', state: 'ok', words: `${location} · ${many}`, hint: '' }
  }
  const hint = 'copy the file away before anything else; it is never repaired by itself'
  return { what: 'store', state: 'bad', words: `${location}: ${problems.join('; ')}`, hint }
}

async function agentChecks(cli: Cli, troupe: Troupe): Promise<Check[]> {
  const words = `${counted(troupe.agents.length, 'agent')}: ${troupe.agents.map((agent) => agent.name).join(', ')}`
  const { problems } = await ownAgents(cli)
  return [
    { what: 'agents', state: 'ok', words, hint: '' },
    ...problems.map(({ path, line, message }): Check => {
      return { what: 'agents', state: 'note', words: `${path}:${line}: ${message}`, hint: '' }
    }),
  ]
}

/** What is configured; nothing is started to find out whether it works. */
function serverChecks(troupe: Troupe): Check[] {
  return troupe.servers().map(({ name, transport, where }) => {
    return { what: 'mcp', state: 'ok', words: `${name} · ${transport} · ${where}; started when needed`, hint: '' }
  })
}

async function journalChecks(cli: Cli, troupe: Troupe, wanted: string): Promise<Check[]> {
  const { verifyJournal } = await import('../../../index.ts')
  const { run_id } = await findRun(cli, troupe, wanted)
  const events = await troupe.events(run_id)
  const findings = verifyJournal(events)
  if (findings.length === 0) {
    return [
      {
        what: 'journal',
        state: 'ok',
        words: `${run_id} · ${counted(events.length, 'event')}, every rule holds`,
        hint: '',
      },
    ]
  }
  return findings.map(({ seq, rule, message }) => {
    return { what: 'journal', state: 'bad', words: `${run_id} event ${seq} breaks ${rule}: ${message}`, hint: '' }
  })
}
