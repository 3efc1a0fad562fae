import { TroupeError } from '../../../errors.ts'
import type { BuildScope } from '../build-scope.ts'
import type { CheckCommand, CheckResult } from './check.ts'
import { parseTestCounts } from './test-counts.ts'

const MAX_OUTPUT_CHARS = 200_000
/** Characters of the output that the journal keeps, and reviewers and developers see. */
const KEPT_OUTPUT_CHARS = 6000

interface CheckRun {
  workspace: string
  stage: 'baseline' | 'merged'
  iteration: number
}

/**
 * Runs the checks one after the other, required ones first. When the time of the reviewer is used up, the optional ones that are left are
 * skipped, and named.
 */
export async function runChecks(
  { context, config, checks }: Pick<BuildScope, 'context' | 'config' | 'checks'>,
  { workspace, stage, iteration }: CheckRun,
): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  let used = 0
  for (const check of checks) {
    const key = `checks/${stage}/${iteration}/${encodeURIComponent(check.name)}`
    const left = config.reviewer_timeout_ms - used
    const result =
      !check.required && left <= 0
        ? skippedCheck(
            check,
            `skipped: the other checks took ${used} ms, and \`reviewer_timeout_ms\` is ${config.reviewer_timeout_ms}`,
          )
        : await runCheck({ context }, check, {
            key,
            workspace,
            // An optional check must not use more than what the required ones left.
            timeout_ms: check.required ? config.check_timeout_ms : Math.min(config.check_timeout_ms, left),
          })
    used += result.duration_ms
    context.emit(`${key}/result`, 'build:check', { iteration, stage, ...result })
    results.push(result)
  }
  return results
}

function skippedCheck({ source: _source, ...check }: CheckCommand, reason: string): CheckResult {
  return { ...check, status: 'skipped', exit_code: null, duration_ms: 0, output: '', reason }
}

/** A command that cannot be started at all is reported like one that failed. */
async function runCheck(
  { context }: Pick<BuildScope, 'context'>,
  { source: _source, ...check }: CheckCommand,
  { key, workspace, timeout_ms }: { key: string; workspace: string; timeout_ms: number },
): Promise<CheckResult> {
  const outcome = await context.step(
    key,
    async (signal) => {
      const { commands } = context
      if (!commands) throw missingRunnerError()
      const run = {
        workspace,
        command: check.command,
        timeout_ms,
        max_output_chars: MAX_OUTPUT_CHARS,
      }
      const { output, omitted_chars, ...facts } = await commands.run(run, signal)
      const tests = check.kind === 'test' ? parseTestCounts(output) : undefined
      const dropped = omitted_chars + Math.max(0, output.length - KEPT_OUTPUT_CHARS)
      const kept = output.slice(-KEPT_OUTPUT_CHARS).toWellFormed()
      return {
        ...facts,
        output: dropped > 0 ? `[${dropped} characters omitted]\n${kept}` : kept,
        ...(tests ? { tests } : undefined),
      }
    },
    { kind: 'idempotent' },
  )
  const { status, exit_code, notes, duration_ms, output, tests } = outcome
  const reason = status === 'timeout' ? [`killed after ${timeout_ms} ms`, ...notes] : notes
  return {
    ...check,
    status: status === 'timeout' ? 'timeout' : status === 'exited' && exit_code === 0 ? 'passed' : 'failed',
    exit_code,
    duration_ms,
    output,
    ...(reason.length > 0 ? { reason: reason.join('; ') } : undefined),
    ...(tests ? { tests } : undefined),
  }
}

export function missingRunnerError(): TroupeError {
  return new TroupeError('invalid_input', 'the checks of a build cannot be run: `Bash` is not available here', {
    responsible: 'operator',
    hint: 'install what the sandbox needs (troupe doctor), or pass --no-sandbox',
  })
}
