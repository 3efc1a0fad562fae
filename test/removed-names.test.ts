import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createTroupe } from '../src/index.ts'
import { REMOVED_NAMES, removedNameHint } from '../src/schema/removed-names.ts'
import { runSlashCommand } from '../src/surfaces/cli/chat/slash-commands.ts'
import { loadPatternViews } from '../src/views/pattern-views.ts'
import { runCommand } from './support/command-run.ts'

/** Uses the name as before; returns what a user or a program is told. */
type Use = () => Promise<string>

const command =
  (...argv: string[]): Use =>
  async () => {
    const { code, err } = await runCommand(argv)
    expect(code).toBe(2)
    return err.join(' ')
  }

const rejection = async (used: Promise<unknown>): Promise<string> => {
  const { message, hint } = await used.then(
    () => expect.unreachable('it was accepted'),
    (thrown: Error & { hint: string }) => thrown,
  )
  return `${message} ${hint}`
}

// An unknown command does nothing with the chat.
const slash =
  (line: string): Use =>
  () =>
    rejection(runSlashCommand({} as never, line))

const option =
  (options: object): Use =>
  () =>
    rejection(createTroupe({ store: 'memory', config: false, ...options }))

/** A view of a pattern, given at once and when it is shown. */
const view =
  (keys: object): Use =>
  async () => {
    const pattern = {
      name: 'poll',
      description: 'Asks',
      version: 1,
      category: 'perception',
      input: z.any(),
      output: z.any(),
    }
    const shown = { initial: () => ({}), reduce: () => ({}), ...keys }
    const later = await rejection(loadPatternViews([{ ...pattern, view: async () => shown } as never]))
    const told = await option({ patterns: [{ ...pattern, view: shown }] })()
    expect(told).toBe(later)
    return told
  }

const input =
  (pattern: string, fields: object): Use =>
  async () => {
    const troupe = await createTroupe({ store: 'memory', config: false })
    return rejection(troupe.run(pattern as never, fields as never)).finally(() => troupe.close())
  }

const agents = ['architect', 'reviewer']

/** Exports are in `removed-names.long.test.ts`. */
const USES: Readonly<Record<string, Use>> = {
  'troupe loops': command('loops', 'trace.json'),
  'team graph --ascii': command('team', 'graph', 'team.yaml', '--ascii'),
  'doctor --run': command('doctor', '--run', 'r_1'),
  'team pause': command('team', 'pause', 'r_1', '--no-wait'),
  'team step': command('team', 'step', 'r_1', '--in', 'legal'),
  'team continue': command('team', 'continue', '--help'),
  'team next': command('team', 'next', 'r_1', 'reviewer'),
  'team set': command('team', 'set', 'r_1', 'words=800'),
  'team say': command('team', '--store', 'x', 'say', 'r_1', 'Mind the tone.'),
  '--lend': command('run', 'task', 'Go.', '--lend', 'TOKEN'),
  '--solo-first': command('run', 'collaborate', 'A or B?', '--with', 'architect,reviewer', '--solo-first'),
  '/vars': slash('/vars'),
  '/graph': slash('/graph'),
  '/artifacts': slash('/artifacts plan.md'),
  '/who': slash('/who'),
  solo_first: input('collaborate', { task: 'A or B?', agents, solo_first: true }),
  'workspace.ripgrep: false': option({ workspace: { workspace: '.', ripgrep: false } }),
  overlapping_scopes: option({ build: { overlapping_scopes: 'parallel' } }),
  'consult.routing': option({ consult: { routing: { local_match: true } } }),
  'consult.scenarios.*.keywords': option({ consult: { scenarios: { security_review: { keywords: ['xss'] } } } }),
  'consult.scenarios.*.threshold': option({ consult: { scenarios: { security_review: { threshold: 0.8 } } } }),
  'consult.knowledge': option({ consult: { knowledge: { answer: 'when_confident' } } }),
  'view.progress': view({ progress: () => [] }),
  'view.lines': view({ lines: () => [] }),
  'engine.create': option({ engine: { create: () => ({}) } }),
}

describe('removed names', () => {
  const names = Object.entries(REMOVED_NAMES).filter(([name]) => !name.startsWith('troupe/'))

  test.each(names)('SC5 %s is refused by name with what to use instead', async (name, instead) => {
    const told = await USES[name]?.()
    expect(told).toContain(name.split(/[. ]/).at(-1))
    expect(told).toContain(instead)
  })

  test('SC5 a part of a name is another name', () => {
    for (const name of ['first', 'not_solo_first', 'engine.created', 'xengine.create', 'doctor --runs', 'vars'])
      expect(removedNameHint(name), name).toBeUndefined()
  })
})
