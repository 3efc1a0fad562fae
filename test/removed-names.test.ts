import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { REMOVED_NAMES, removedNameHint } from '../src/schema/removed-names.ts'
import { formatIssues } from '../src/schema/schema.ts'
import * as z from '../src/schema/zod.ts'
import { requireKnownCommand } from '../src/surfaces/cli/known-command.ts'
import { usageError } from '../src/surfaces/cli/report-error.ts'

const names = Object.entries(REMOVED_NAMES)
const options = names.filter(([name]) => /^[a-z_.]+$/.test(name))
const flags = names.filter(([name]) => name.includes('--'))
const commands = names.filter(([name]) => /^troupe \w+$/.test(name))

describe('removed names', () => {
  test.each(options)('SC5 the option %s is refused with what to use instead', (path, instead) => {
    const [key = '', ...outer] = path.split('.').toReversed()
    const value = outer.reduce<object>((inner, name) => ({ [name]: inner }), { [key]: true })
    const schema = outer.reduce<z.ZodType>((inner, name) => z.strictObject({ [name]: inner }), z.strictObject({}))
    const { error } = schema.safeParse(value)
    const problem = error && formatIssues(error)
    expect(problem).toContain(key)
    expect(problem).toContain(instead)
  })

  test.each(flags)('SC5 the flag %s is refused with what to use instead', (name, instead) => {
    const flag = name.slice(name.indexOf('--'))
    const command = name === flag ? 'run collaborate' : name.slice(0, -flag.length - 1)
    const thrown = { code: 'commander.unknownOption', exitCode: 1, message: `error: unknown option '${flag}'` }
    const error = usageError(thrown, command)
    expect(error?.message).toContain(flag)
    expect(error?.hint).toContain(instead)
  })

  test.each(commands)('SC5 the command %s is refused with what to use instead', (name, instead) => {
    const command = name.split(' ')[1] ?? ''
    const hint = expect.stringContaining(instead)
    expect(() => requireKnownCommand(new Command(), [command])).toThrow(
      expect.objectContaining({ message: `unknown command '${command}'`, hint }),
    )
  })

  test('SC5 a part of a name is another name', () => {
    for (const name of ['first', 'not_solo_first', 'engine.created', 'xengine.create', 'doctor --runs', 'vars'])
      expect(removedNameHint(name), name).toBeUndefined()
  })
})
