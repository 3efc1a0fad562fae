import type { Command } from 'commander'
import { InvalidArgumentError, Option } from 'commander'
import { TroupeError, unknownName } from '../../errors.ts'
import type { Pattern } from '../../index.ts'
import { calledWith } from './called.ts'
import type { Cli } from './cli.ts'
import type { PatternFlags } from './pattern-flags.ts'
import { addPatternFlags } from './pattern-flags.ts'
import { collected, shared, taped, working } from './program-options.ts'
import type { Look } from './render/line.ts'
import { sized, wrap } from './render/width.ts'

type Site = { terminal: Cli['terminal']; code: number }

const make = {
  option: (flags: string, description: string) => new Option(flags, description),
  invalid: (message: string) => new InvalidArgumentError(message),
}

/** Gives `run` a command for each pattern. */
export async function describePatterns(run: Command, site: Site): Promise<void> {
  const { PATTERNS } = await import('../../shipped.ts')
  run.usage('PATTERN [options]').commandsGroup('Patterns:')
  for (const pattern of PATTERNS) {
    const command = run.command(pattern.name).description(firstSentence(pattern)).allowExcessArguments(false)
    const flags = addPatternFlags(command.optionsGroup('Input:'), pattern, make)
    if (pattern.name === 'team') describeTeamInput(command)
    command.option('--input <file>', 'fields from a JSON or YAML file, or - for stdin')
    shared(taped(working(command.optionsGroup('Options:'))))
    // --team stands for it.
    const fileOnly = flags.fileOnly.filter(({ name }) => pattern.name !== 'team' || name !== 'team')
    command.addHelpText('after', () => fileOnlyHelp(fileOnly, site.terminal.out))
    command.action(async () => {
      site.code = await start(command, pattern, flags, site.terminal)
    })
  }
  const names = PATTERNS.map(({ name }) => name)
  run
    .allowUnknownOption()
    .allowExcessArguments()
    .action((name: string | undefined) => {
      if (name !== undefined) throw unknownName('unknown_pattern', 'pattern', name, names)
      throw new TroupeError('unknown_pattern', 'no pattern is named', {
        alternatives: names,
        hint: `such as: troupe run ${names[0]} --help`,
      })
    })
}

/** A team is written in a file of its own; on the command line its path stands for it. */
function describeTeamInput(command: Command): void {
  command
    .option('--team <file>', 'the team, in YAML; in the file of --input, `team: PATH`')
    .option('--set <name=value>', 'a variable of the team; repeatable', collected)
}

async function start(command: Command, pattern: Pattern, flags: PatternFlags, terminal: Cli['terminal']) {
  const options = command.optsWithGlobals<Cli<{ input?: string }>['options']>()
  calledWith([terminal.out, terminal.err], options)
  if (options.input === undefined && pattern.name !== 'team') needsFile(pattern, flags)
  const { run } = await import('./commands/run.ts')
  return run({ terminal, options }, pattern.name, flags.given())
}

/** A flag of the same name may mean something else: `--agents` is a folder of agent files. */
function needsFile(pattern: Pattern, { fileOnly }: PatternFlags): void {
  const missing = fileOnly.find(({ required }) => required)
  if (!missing) return
  throw new TroupeError('invalid_input', `${missing.name} is missing, and comes in a file only`, {
    hint: `write it into a YAML or JSON file: --input FILE; troupe run ${pattern.name} --help shows the fields`,
    alternatives: ['--input'],
  })
}

const COLUMN = 24

/** Fields that are no flags: nobody would know of them otherwise. */
function fileOnlyHelp(fileOnly: PatternFlags['fileOnly'], look: Look): string {
  if (fileOnly.length === 0) return ''
  const lines = fileOnly.flatMap(({ name, words }) =>
    wrap(' '.repeat(COLUMN) + words, look.width, COLUMN).map((text, index) =>
      index === 0 ? sized(`  ${name}`, COLUMN) + text.slice(COLUMN) : text,
    ),
  )
  return ['', 'Only in the file of --input:', ...lines].join('\n')
}

function firstSentence({ description }: Pattern): string {
  return /^.*?\.(?=\s|$)/s.exec(description)?.[0] ?? description
}
