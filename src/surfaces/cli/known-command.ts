import type { Command } from 'commander'
import { didYouMean, nearestNames, TroupeError } from '../../errors.ts'
import { removedNameHint } from '../../schema/removed-names.ts'

const OPTIONS_WITH_VALUE = ['--store', '--project']

/** The first word that is not an option; works even when the rest does not parse. */
export function commandName(argv: readonly string[]): string | undefined {
  return argv.find((word, index) => !word.startsWith('-') && !OPTIONS_WITH_VALUE.includes(argv[index - 1] ?? ''))
}

/** `--help` after an unknown command would otherwise print the help of the program, with exit code 0. */
export function requireKnownCommand({ commands }: Command, argv: readonly string[]): void {
  const name = commandName(argv)
  const command = commands.find((candidate) => candidate.name() === name)
  if (name !== undefined && !command) throw unknownCommandError('command', name, commands)
  if (!command || command.commands.length === 0 || !argv.some((word) => word === '--help' || word === '-h')) return
  const sub = argv[argv.indexOf(command.name()) + 1] ?? '-'
  if (sub.startsWith('-') || command.commands.some((candidate) => candidate.name() === sub)) return
  throw unknownCommandError(command.name() === 'run' ? 'pattern' : `${command.name()} command`, sub, command.commands)
}

function unknownCommandError(kind: string, name: string, commands: readonly Command[]): TroupeError {
  const known = commands.map((command) => command.name())
  return new TroupeError('invalid_input', `unknown ${kind} '${name}'`, {
    hint: removedNameHint(`troupe ${name}`) || didYouMean(name, known) || 'list the commands with: troupe --help',
    alternatives: nearestNames(name, known),
  })
}
