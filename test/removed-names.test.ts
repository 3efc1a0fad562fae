import { describe, expect, test } from 'vitest'
import { createTroupe } from '../src/index.ts'
import { REMOVED_NAMES, removedNameHint } from '../src/schema/removed-names.ts'
import { formatIssues } from '../src/schema/schema.ts'
import * as z from '../src/schema/zod.ts'
import { runSlashCommand } from '../src/surfaces/cli/chat/slash-commands.ts'
import { usageError } from '../src/surfaces/cli/report-error.ts'
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

const USES: Readonly<Record<string, Use>> = {
  'troupe loops': command('loops', 'trace.json'),
  'doctor --run': command('doctor', '--run', 'r_1'),
  '/vars': slash('/vars'),
  '/graph': slash('/graph'),
  '/artifacts': slash('/artifacts plan.md'),
  '/who': slash('/who'),
  overlapping_scopes: option({ build: { overlapping_scopes: 'parallel' } }),
}

describe('removed names', () => {
  const names = Object.entries(REMOVED_NAMES)

  test.each(Object.entries(USES))('SC5 %s, used as before, is refused with what to use instead', async (name, use) => {
    const told = await use()
    expect(told).toContain(name.split(/[. ]/).at(-1))
    expect(told).toContain(REMOVED_NAMES[name])
  })

  test.each(names.filter(([name]) => /^[a-z_.*]+$/.test(name)))(
    'SC5 the option %s is refused where a schema does not know it, with what to use instead',
    (path, instead) => {
      const [key = '', ...outer] = path.split('.').toReversed()
      const value = outer.reduce<object>((inner, name) => ({ [name]: inner }), { [key]: true })
      const schema = outer.reduce<z.ZodType>((inner, name) => z.strictObject({ [name]: inner }), z.strictObject({}))
      const { error } = schema.safeParse(value)
      const problem = error && formatIssues(error)
      expect(problem).toContain(key)
      expect(problem).toContain(instead)
    },
  )

  test.each(names.filter(([name]) => name.includes('--')))(
    'SC5 the flag %s is refused with what to use instead',
    (name, instead) => {
      const flag = name.slice(name.indexOf('--'))
      const of = name === flag ? 'run collaborate' : name.slice(0, -flag.length - 1)
      const thrown = { code: 'commander.unknownOption', exitCode: 1, message: `error: unknown option '${flag}'` }
      const error = usageError(thrown, of)
      expect(error?.message).toContain(flag)
      expect(error?.hint).toContain(instead)
    },
  )

  test('SC5 a part of a name is another name', () => {
    for (const name of [
      'first',
      'not_solo_first',
      'engine.created',
      'xengine.create',
      'doctor --runs',
      'vars',
      'scenarios.a.keywords',
      'enginexcreate',
    ])
      expect(removedNameHint(name), name).toBeUndefined()
  })
})
