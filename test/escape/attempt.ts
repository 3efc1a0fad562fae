import type { TestContext } from 'vitest'
import { expect } from 'vitest'
import type { SandboxOptions } from '../../src/tools/sandbox/sandbox.ts'
import type { AttackArea } from '../support/attempt-count.ts'
import { recordAttempts } from '../support/attempt-count.ts'
import type { HostFixture } from './host-fixture.ts'
import { hasMarker, openHostFixture, SECRET } from './host-fixture.ts'
import type { ToolCallOutcome } from './tool-workspace.ts'

/** One attempt to escape the sandbox. */
export interface Attempt {
  title: string
  prepare?(host: HostFixture): void | Promise<void>
  /** A command for `Bash`, or another call. */
  run: ((host: HostFixture) => string) | { call(host: HostFixture): Promise<ToolCallOutcome> }
  /** Whether the escape succeeded. Default: the marker exists outside, or the result contains the secret. */
  escaped?(host: HostFixture, result: ToolCallOutcome): boolean | Promise<boolean>
  /** Reason for no control run without the sandbox: it would harm the machine, or proves nothing. */
  no_control_run?: string
  timeout?: number
  sandbox?: SandboxOptions
}

export interface AttemptOutcome {
  escaped: boolean
  result: ToolCallOutcome
}

export async function runAttempt(attempt: Attempt, confined: boolean): Promise<AttemptOutcome> {
  await using host = await openHostFixture({
    confined,
    ...(attempt.sandbox ? { sandbox: attempt.sandbox } : undefined),
  })
  await attempt.prepare?.(host)
  const { run, timeout = 10_000 } = attempt
  const result =
    typeof run === 'function' ? await host.call('Bash', { command: run(host), timeout }) : await run.call(host)
  const escaped = await (attempt.escaped ?? hasEscaped)(host, result)
  return { escaped, result }
}

function hasEscaped(host: HostFixture, { text }: ToolCallOutcome): boolean {
  return hasMarker(host) || text.includes(SECRET)
}

const CONCURRENCY = 4

/** A test that runs all attempts in the sandbox, and harmless ones without it as a control, where they must succeed. */
export function expectNoEscape(
  area: AttackArea,
  attempts: readonly Attempt[],
): (context: TestContext) => Promise<void> {
  return async (context) => {
    const controls = attempts.filter(({ no_control_run }) => no_control_run === undefined).length
    const succeeded = await runAttempts(attempts)
    recordAttempts(context, area, { attempts: attempts.length, controls, succeeded })
  }
}

/** The number of attempts that got out of the sandbox. */
async function runAttempts(attempts: readonly Attempt[]): Promise<number> {
  let succeeded = 0
  const queue = attempts.flatMap((attempt) =>
    attempt.no_control_run === undefined
      ? [
          { attempt, confined: true },
          { attempt, confined: false },
        ]
      : [{ attempt, confined: true }],
  )
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { attempt, confined } = next
      const { escaped, result } = await runAttempt(attempt, confined)
      if (escaped && confined) succeeded++
      const where = confined ? 'in the sandbox' : 'without the sandbox'
      expect.soft(escaped, `${attempt.title}, ${where}:\n${result.text.slice(0, 600)}`).toBe(!confined)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return succeeded
}
