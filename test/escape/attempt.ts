import { expect } from 'vitest'
import type { SandboxOptions } from '../../src/tools/sandbox/sandbox.ts'
import type { Scene } from './scene.ts'
import { hasMarker, openScene, SECRET } from './scene.ts'
import type { Answer } from './workbench.ts'

/** One way to try to get out. */
export interface Attempt {
  what: string
  prepare?(scene: Scene): void | Promise<void>
  /** A command for Bash, or whatever else is tried. */
  run: ((scene: Scene) => string) | { call(scene: Scene): Promise<Answer> }
  /** Whether it got out. Unless given: the marker outside exists, or the secret is in the answer. */
  escaped?(scene: Scene, answer: Answer): boolean | Promise<boolean>
  /** Why there is no control run: it would harm the machine, or has nothing to show without a sandbox. */
  onlyInside?: string
  timeout?: number
  sandbox?: SandboxOptions
}

export interface Outcome {
  escaped: boolean
  answer: Answer
}

export async function play(attempt: Attempt, confined: boolean): Promise<Outcome> {
  await using scene = await openScene({ confined, ...(attempt.sandbox ? { sandbox: attempt.sandbox } : undefined) })
  await attempt.prepare?.(scene)
  const { run, timeout = 10_000 } = attempt
  const answer =
    typeof run === 'function' ? await scene.call('Bash', { command: run(scene), timeout }) : await run.call(scene)
  const escaped = await (attempt.escaped ?? reachedOut)(scene, answer)
  return { escaped, answer }
}

function reachedOut(scene: Scene, { text }: Answer): boolean {
  return hasMarker(scene) || text.includes(SECRET)
}

const AT_A_TIME = 4

/** Plays all attempts in the sandbox, and those that harm nothing without it: there they have to succeed. */
export async function noneEscapes(attempts: readonly Attempt[]): Promise<void> {
  const waiting = attempts.flatMap((attempt) =>
    attempt.onlyInside === undefined
      ? [
          { attempt, confined: true },
          { attempt, confined: false },
        ]
      : [{ attempt, confined: true }],
  )
  const worker = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { attempt, confined } = next
      const { escaped, answer } = await play(attempt, confined)
      const where = confined ? 'in the sandbox' : 'without the sandbox'
      expect.soft(escaped, `${attempt.what}, ${where}:\n${answer.text.slice(0, 600)}`).toBe(!confined)
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
}
