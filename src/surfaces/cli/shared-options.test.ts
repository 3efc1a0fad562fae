import { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { runCommand } from '../../../test/support/command-run.ts'
import { EXECUTION, shareOptions } from './shared-options.ts'

/** Parses a command line with a command `say` that executes runs, one of a group, and one that takes only the common options. */
function parse(...argv: string[]) {
  const program = new Command()
    .exitOverride()
    .enablePositionalOptions()
    .version('1.0.0', '-v, --version')
    .configureOutput({ writeErr: () => {} })
  const shared = shareOptions(program)
  const found: { name?: string; args?: string[]; options?: object } = {}
  const add = (parent: Command, name: string, groups = EXECUTION) => {
    const command = shared.give(parent.command(name), groups).argument('[text...]').option('--message <text>')
    command.action(() => {
      const given = Object.entries(shared.valuesOf(command)).filter(
        ([, value]) => value !== undefined && value !== true,
      )
      Object.assign(found, { name, args: command.args, options: Object.fromEntries(given) })
    })
    return command
  }
  add(program, 'say')
  add(program, 'list', [])
  add(shared.give(program.command('group')).helpCommand(false), 'say').option('--deny <text>')
  program.parse(argv, { from: 'user' })
  return found
}

describe('options of several commands', () => {
  test('L99 they may stand before, between and after the words of a command', () => {
    const expected = { name: 'say', args: ['hi'], options: { model: 'm', deny: ['a', 'b'], store: 's' } }
    const deny = ['--deny', 'a', '--deny', 'b']
    expect(parse('--store', 's', '--model', 'm', ...deny, 'say', 'hi')).toEqual(expected)
    expect(parse('--store=s', 'say', ...deny, 'hi', '--model=m')).toEqual(expected)
    expect(parse('say', 'hi', ...deny, '--store', 's', '--model', 'm')).toEqual(expected)
    expect(parse('--store', 's', 'group', '--model', 'm', 'say', 'hi')).toMatchObject({
      options: { model: 'm', store: 's' },
    })
  })

  test('L99 an option of the command is read first, and values and words after -- are no options', () => {
    expect(parse('say', '--message', '-quick', '-q').options).toMatchObject({ message: '-quick' })
    expect(parse('group', '--store', 's', 'say', '--message', '--json').options).toMatchObject({ message: '--json' })
    expect(parse('group', 'say', '--deny', 'x')).toMatchObject({ options: { deny: 'x' } })
    expect(parse('say', '--store', 's', '--', '--model', 'say')).toMatchObject({ args: ['--model', 'say'] })
    expect(parse('say', '--store', 'list', 'say', 'list').args).toEqual(['say', 'list'])
  })

  test('L99 an option that the command does not take is refused in every place', () => {
    const refusal = /'list' does not take the option '--(limit|no-tools)'/
    expect(() => parse('list', '--limit', 'calls=1')).toThrow(refusal)
    expect(() => parse('--limit', 'calls=1', 'list')).toThrow(refusal)
    expect(() => parse('list', 'a', '--no-tools')).toThrow(refusal)
    for (const flag of ['-v', '--version']) expect(() => parse('list', 'a', flag)).toThrow(`unknown option '${flag}'`)
    expect(() => parse('say', '--lmit', 'calls=1')).toThrow(/unknown option '--lmit'[\s\S]*--limit/)
  })

  test('L99 exit code 2 and the help of the command', async () => {
    for (const argv of [
      ['--model', 'm', 'runs'],
      ['team', '--agents', 'a', 'schema'],
      ['doctor', '--limit', 'calls=1'],
    ]) {
      const { code, err } = await runCommand(argv)
      expect(code).toBe(2)
      expect(err.join('\n')).toMatch(/does not take the option[\s\S]*troupe (runs|team schema|doctor) --help/)
    }
  })

  test('L99 --help shows the options that a command takes, and no others', async () => {
    const helpOf = async (...argv: string[]) => (await runCommand([...argv, '--help'])).out.join('\n')
    expect(await helpOf('resume')).toMatch(/--force[\s\S]*--agents[\s\S]*--limit[\s\S]*--store/)
    expect(await helpOf('answer')).not.toContain('--limit')
    expect(await helpOf('runs')).not.toMatch(/--agents|--model|--workspace/)
    expect(await helpOf('team', 'check')).toMatch(/--strict[\s\S]*--agents/)
    expect(await helpOf()).not.toContain('--workspace')
  })
})
