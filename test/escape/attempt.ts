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

/** Plays all attempts in the sandbox, and those that harm nothing without it: there they have to succeed. */
export async function noneEscapes(attempts: readonly Attempt[]): Promise<void> {
  for (const attempt of attempts) {
    const inside = await play(attempt, true)
    expect.soft(inside.escaped, `${attempt.what}, in the sandbox:\n${inside.answer.text.slice(0, 600)}`).toBe(false)
    if (attempt.onlyInside !== undefined) continue
    const control = await play(attempt, false)
    expect
      .soft(control.escaped, `${attempt.what}, without the sandbox:\n${control.answer.text.slice(0, 600)}`)
      .toBe(true)
  }
}
