import { expect } from 'vitest'
import type { SandboxOptions } from '../../src/tools/sandbox/sandbox.ts'
import type { HostFixture } from './host-fixture.ts'
import { hasMarker, openHostFixture, SECRET } from './host-fixture.ts'
import type { ToolCallOutcome } from './tool-workspace.ts'

/** One way to try to get out. */
export interface Attempt {
  title: string
  prepare?(scene: HostFixture): void | Promise<void>
  /** A command for Bash, or whatever else is tried. */
  run: ((scene: HostFixture) => string) | { call(scene: HostFixture): Promise<ToolCallOutcome> }
  /** Whether it got out. Unless given: the marker outside exists, or the secret is in the answer. */
  escaped?(scene: HostFixture, answer: ToolCallOutcome): boolean | Promise<boolean>
  /** Why there is no control run: it would harm the machine, or has nothing to show without a sandbox. */
  no_control_run?: string
  timeout?: number
  sandbox?: SandboxOptions
}

export interface AttemptOutcome {
  escaped: boolean
  answer: ToolCallOutcome
}

export async function runAttempt(attempt: Attempt, confined: boolean): Promise<AttemptOutcome> {
  await using scene = await openHostFixture({
    confined,
    ...(attempt.sandbox ? { sandbox: attempt.sandbox } : undefined),
  })
  await attempt.prepare?.(scene)
  const { run, timeout = 10_000 } = attempt
  const answer =
    typeof run === 'function' ? await scene.call('Bash', { command: run(scene), timeout }) : await run.call(scene)
  const escaped = await (attempt.escaped ?? hasEscaped)(scene, answer)
  return { escaped, answer }
}

function hasEscaped(scene: HostFixture, { text }: ToolCallOutcome): boolean {
  return hasMarker(scene) || text.includes(SECRET)
}

const CONCURRENCY = 4

/** Plays all attempts in the sandbox, and those that harm nothing without it: there they have to succeed. */
export async function expectNoEscape(attempts: readonly Attempt[]): Promise<void> {
  const waiting = attempts.flatMap((attempt) =>
    attempt.no_control_run === undefined
      ? [
          { attempt, confined: true },
          { attempt, confined: false },
        ]
      : [{ attempt, confined: true }],
  )
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { attempt, confined } = next
      const { escaped, answer } = await runAttempt(attempt, confined)
      const where = confined ? 'in the sandbox' : 'without the sandbox'
      expect.soft(escaped, `${attempt.title}, ${where}:\n${answer.text.slice(0, 600)}`).toBe(!confined)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}
