import type { TestContext } from 'vitest'
import type { TestModule } from 'vitest/node'

/*
 * Counts the attempts to break a guard. The files of `test/escape` run in processes of their own: each test keeps its number in its `meta`, and the
 * reporter prints the sum.
 */

/** The parts of the system that an attacker aims at. */
export type AttackArea =
  | 'files'
  | 'git'
  | 'processes'
  | 'network'
  | 'IPC'
  | 'memory'
  | 'kernel'
  | 'environment'
  | 'servers'
  | 'terminal'
  | 'store'
  | 'agent files'
  | 'models'
  | 'permissions'
  | 'approvals'

export interface AttemptCount {
  attempts: number
  /** Checks that the guard is what stops them: attempts that succeed without it, and harmless calls that it lets pass. */
  controls: number
  /** Attempts that got past the guard. */
  succeeded: number
}

declare module 'vitest' {
  interface TaskMeta {
    attackArea?: AttackArea
    attempts?: Omit<AttemptCount, 'succeeded'> & Partial<AttemptCount>
  }
}

/** For `beforeEach`: each test of the file is one attempt, or the control of one if its title says so. */
export function countEachTest(area: AttackArea): (context: TestContext) => void {
  return ({ task }) => {
    task.meta.attackArea = area
  }
}

/** Counts several attempts of one test; `attempts: 0` for a test that attempts nothing. */
export function recordAttempts({ task }: TestContext, area: AttackArea, count: Partial<AttemptCount>): void {
  task.meta.attackArea = area
  task.meta.attempts = { attempts: 0, controls: 0, ...count }
}

const CONTROL = /^\S+ (the )?control\b|as a control: true/
const WITH_CONTROL = /\bcontrol: (?!false)/

/** One line with the attempts of all tests; none if no test attempted anything. */
export function attemptLines(modules: ReadonlyArray<TestModule>): string[] {
  const total: AttemptCount = { attempts: 0, controls: 0, succeeded: 0 }
  const byArea = new Map<AttackArea, number>()
  for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
    const { attackArea, attempts } = test.meta()
    const { state } = test.result()
    if (attackArea === undefined || state === 'skipped') continue
    const isControl = CONTROL.test(test.name)
    const controls = isControl || WITH_CONTROL.test(test.name) ? 1 : 0
    const count = attempts ?? { attempts: isControl ? 0 : 1, controls }
    total.attempts += count.attempts
    total.controls += count.controls
    // A test that failed without a number of its own: at least one attempt got past the guard.
    total.succeeded += count.succeeded ?? (state === 'passed' ? 0 : 1)
    byArea.set(attackArea, (byArea.get(attackArea) ?? 0) + count.attempts)
  }
  if (total.attempts === 0) return []
  const areas = [...byArea].map(([area, count]) => `${area} ${count}`).join(', ')
  return [`escape attempts: ${total.attempts} (${areas}), ${total.controls} controls; ${total.succeeded} succeeded`]
}
