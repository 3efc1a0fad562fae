import type { Command } from 'commander'
import { didYouMean, nearestNames, TroupeError } from '../../errors.ts'
import { removedNameHint } from '../../schema/removed-names.ts'

/** The command that a command line means, also one whose options cannot be read. */
export interface FoundCommand {
  command: Command
  /** The index of its name. */
  at: number
  /** The first word after it that is no option. */
  next: string | undefined
}

export function findCommand(program: Command, argv: readonly string[]): FoundCommand {
  let found: FoundCommand = { command: program, at: -1, next: undefined }
  for (let index = 0; index < argv.length && found.next === undefined; index++) {
    const word = argv[index] ?? ''
    if (program.options.some(({ required, long, short }) => required && (long === word || short === word))) index++
    if (word.startsWith('-')) continue
    const command = found.command.commands.find((candidate) => candidate.name() === word)
    found = command ? { command, at: index, next: undefined } : { ...found, next: word }
  }
  return found
}

/** The words of a command: `team check`. */
export function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}`.trim() : ''
}

/** Throws for an unknown command, and for a group without one. With `--help` the parser would print the help of the program instead. */
export function requireKnownCommand({ command, next }: FoundCommand, argv: readonly string[]): void {
  const { parent, commands } = command
  const known = commands.map((candidate) => candidate.name())
  const isHelp = argv.includes('--help') || argv.includes('-h')
  if (known.length === 0 || (next === undefined && (!parent || isHelp))) return
  const path = `troupe ${commandPath(command)}`.trim()
  const isRun = command.name() === 'run'
  const code = isRun ? 'unknown_pattern' : 'invalid_input'
  if (next === undefined) {
    const hint = `example: ${path} ${known[0]} --help`
    throw new TroupeError(code, `the argument ${isRun ? 'PATTERN' : 'COMMAND'} is missing`, {
      alternatives: known,
      hint,
    })
  }
  const kind = isRun ? 'pattern' : parent ? `${command.name()} command` : 'command'
  throw new TroupeError(code, `unknown ${kind} '${next}'`, {
    hint: removedNameHint(`${path} ${next}`) ?? (didYouMean(next, known) || `list them with: ${path} --help`),
    alternatives: nearestNames(next, known),
  })
}
