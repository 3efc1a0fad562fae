import type { DetectedModels } from '../../../entries/models.ts'
import { toTroupeError } from '../../../errors.ts'
import type { Troupe } from '../../../index.ts'
import { nodeVersionProblem } from '../../../runtime/node-version.ts'
import { errorSummary } from '../../../views/content-text.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { loadUserAgents } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { checkConfigFiles } from '../config-checks.ts'
import { EXIT } from '../exit-code.ts'
import { findLeftWorktrees, leftWorktreeHint } from '../left-worktrees.ts'
import type { ModelTest } from '../model-checks.ts'
import { detectConfiguredModels, modelChecks, modelTestCheck, roleModels, testModels } from '../model-checks.ts'
import { openTroupe, storeExists, storePath } from '../open-troupe.ts'
import type { DoctorCheck } from '../render/doctor-checks.ts'
import { doctorCheckLines } from '../render/doctor-checks.ts'

/** Checks the environment. */
export async function doctorCommand(command: Cli<{ call?: true | string[] }>): Promise<number> {
  const { checks: configChecks, ...loaded } = await checkConfigFiles(command)
  const cli = { ...command, ...loaded }
  const models = await detectConfiguredModels(cli)
  const calls = await runModelTests(cli, models)
  const checks: DoctorCheck[] = [nodeCheck(), ...configChecks, ...modelChecks(models), ...calls.map(modelTestCheck)]
  checks.push(await sandboxCheck(), await searchCheck())
  let troupe: Troupe | undefined
  try {
    troupe = await openTroupe(cli, 'existing')
    checks.push(await storeCheck(cli, troupe), ...(await agentChecks(cli, troupe)), ...serverChecks(troupe))
    checks.push(...(await worktreeChecks(cli, troupe)))
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (error.code === 'invalid_input') throw error
    checks.push({
      name: error.code.startsWith('store_') ? 'store' : 'start',
      status: 'error',
      message: errorSummary(error),
      hint: error.hint,
    })
  } finally {
    await troupe?.close()
  }
  const healthy = checks.every(({ status }) => status !== 'error')
  if (cli.options.json) printJson(cli, { healthy, checks, models, calls })
  else for (const line of doctorCheckLines(checks, cli.terminal.out)) cli.terminal.print(line)
  return healthy ? EXIT.done : EXIT.failed
}

function nodeCheck(): DoctorCheck {
  const problem = nodeVersionProblem(process.versions.node)
  return { name: 'node', status: problem ? 'error' : 'ok', message: process.version, hint: problem ?? '' }
}

/** A missing sandbox is only a warning: agents then run no commands. */
async function sandboxCheck(): Promise<DoctorCheck> {
  const { sandboxReport } = await import('../../../runtime/tool-ports.ts')
  const { available, kind, problems } = await sandboxReport({ network: false })
  if (available) return { name: 'sandbox', status: 'ok', message: kind, hint: '' }
  const hint = 'agents cannot run commands; pass --no-sandbox to run them unsandboxed'
  return { name: 'sandbox', status: 'warning', message: problems.join('; '), hint }
}

/** The configured web search provider; sends no request. */
async function searchCheck(): Promise<DoctorCheck> {
  const { searchProviderFromEnv } = await import('../../../index.ts')
  try {
    const provider = await searchProviderFromEnv(process.env)
    if (!provider) {
      const hint = 'to enable WebSearch set BRAVE_API_KEY, TAVILY_API_KEY or SEARXNG_URL'
      return { name: 'search', status: 'warning', message: 'no search provider is configured', hint }
    }
    const message = `${provider.name} at ${provider.host}; enable it with --allow-host ${provider.host}`
    return { name: 'search', status: 'ok', message, hint: '' }
  } catch (thrown) {
    const error = toTroupeError(thrown)
    return { name: 'search', status: 'error', message: errorSummary(error), hint: error.hint }
  }
}

/** Only with `--call`: requests cost money and need a network. */
async function runModelTests(cli: Cli<{ call?: true | string[] }>, models: DetectedModels): Promise<ModelTest[]> {
  const { call } = cli.options
  return call === undefined ? [] : testModels(call === true ? roleModels(models) : call)
}

/** `verify` lists all of them. */
const MAX_FINDINGS = 10

async function storeCheck(cli: Cli, troupe: Troupe): Promise<DoctorCheck> {
  if (!storeExists(cli)) {
    return {
      name: 'store',
      status: 'ok',
      message: `${storePath(cli)} does not exist yet; the first run creates it`,
      hint: '',
    }
  }
  const { location, runs, findings } = await troupe.verify()
  const { not_yours } = troupe.storeStatus()
  if (findings.length === 0 && not_yours)
    return { name: 'store', status: 'warning', message: not_yours.message, hint: not_yours.hint }
  if (findings.length === 0)
    return { name: 'store', status: 'ok', message: `${location} · ${pluralize(runs, 'run')}`, hint: '' }
  const hint = 'find out more with: troupe verify; restore a backup: Troupe never repairs a store'
  const shown = findings.slice(0, MAX_FINDINGS).map(({ message }) => message)
  const more = findings.length > shown.length ? [`and ${findings.length - shown.length} more`] : []
  return { name: 'store', status: 'error', message: `${location}: ${[...shown, ...more].join('; ')}`, hint }
}

async function agentChecks(cli: Cli, troupe: Troupe): Promise<DoctorCheck[]> {
  const summary = `${pluralize(troupe.agents.length, 'agent')}: ${troupe.agents.map((agent) => agent.name).join(', ')}`
  const { problems } = await loadUserAgents(cli)
  return [
    { name: 'agents', status: 'ok', message: summary, hint: '' },
    ...problems.map(({ path, line, message, hint = '' }): DoctorCheck => {
      return { name: 'agents', status: 'warning', message: `${path}:${line}: ${message}`, hint }
    }),
  ]
}

/** Configured MCP servers; starts none. */
function serverChecks(troupe: Troupe): DoctorCheck[] {
  return troupe.mcpServers().map(({ name, transport, where }): DoctorCheck => {
    return { name: 'mcp', status: 'ok', message: `${name} · ${transport} · ${where}; started on demand`, hint: '' }
  })
}

/** Worktrees of runs that are not at work: left by a crash or a cancellation, and offered to be continued or removed. */
async function worktreeChecks(cli: Cli, troupe: Troupe): Promise<DoctorCheck[]> {
  const found = await findLeftWorktrees(cli, troupe)
  return found.flatMap((left) =>
    left.leftovers.map((leftover): DoctorCheck => {
      const { path, branch, commits, uncommitted } = leftover
      const work = `${pluralize(commits, 'commit')}, ${pluralize(uncommitted, 'file')} not committed`
      const message = `${path ?? branch} of run ${left.run_id} (${left.status}) was left behind: ${work}`
      return { name: 'worktree', status: 'warning', message, hint: leftWorktreeHint(left, leftover) }
    }),
  )
}
