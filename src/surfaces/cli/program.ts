import type { Argument } from 'commander'
import { Command, CommanderError } from 'commander'
import { PACKAGE_VERSION } from '../../schema/package-version.ts'
import { BUILD_PATTERN } from './commands/build-command.ts'
import type { FoundCommand } from './find-command.ts'
import { commandPath, findCommand, requireKnownCommand } from './find-command.ts'
import { inertTerminal } from './inert-output.ts'
import { normalizeFlags } from './pattern-flags.ts'
import { addCommands } from './program-commands.ts'
import type { ProgramContext } from './shared-options.ts'
import { COMMON_HEADING, helpSection, shareOptions } from './shared-options.ts'
import type { Terminal } from './terminal.ts'
import { realTerminal } from './terminal.ts'

/** Runs the command line; returns the exit code. */
export async function main(args: readonly string[], output: Terminal = realTerminal()): Promise<number> {
  const terminal = inertTerminal(output)
  const program = new Command('troupe')
  const context: ProgramContext = { terminal, code: 0, shared: shareOptions(program) }
  defineProgram(program, context)
  const argv = expandShortcuts(program, args)
  let found = findCommand(program, argv)
  try {
    await reportInterruptedCommands(terminal)
    if (found.command.name() === 'run') {
      await addPatterns(found, context, argv)
      found = findCommand(program, argv)
    }
    requireKnownCommand(found, argv)
    await program.parseAsync(argv, { from: 'user' })
    return context.code
  } catch (thrown) {
    const { reportError, usageError } = await import('./report-error.ts')
    const path = commandPath(found.command)
    const report = { terminal, json: argv.includes('--json'), command: path.split(' ')[0] }
    if (!(thrown instanceof CommanderError)) return reportError(thrown, report)
    if (thrown.code === 'commander.help') program.outputHelp()
    const error = usageError(thrown, path)
    return error ? reportError(error, report) : context.code
  }
}

/** Sandbox escape: before a configuration is loaded or git is used, what a killed command left behind is made harmless. */
async function reportInterruptedCommands(terminal: Terminal): Promise<void> {
  const { recoverInterruptedCommands } = await import('../../runtime/tool-ports.ts')
  for (const note of await recoverInterruptedCommands()) terminal.note(`warning: ${note}`)
}

/** `troupe help chat` is `troupe chat --help`, `troupe build` is `troupe run build`, and the flags of patterns have the spelling of their fields, too. */
function expandShortcuts(program: Command, argv: readonly string[]): string[] {
  const { command, at, next } = findCommand(program, argv)
  const [before, after] = [argv.slice(0, at + 1), argv.slice(at + 1)]
  if (next === 'help' && after[0] === next && command.registeredArguments.length === 0)
    return [...before, ...after.slice(1), '--help']
  if (command.name() === BUILD_PATTERN) return normalizeFlags([...before.slice(0, -1), 'run', BUILD_PATTERN, ...after])
  return command.name() === 'run' ? normalizeFlags(argv) : [...argv]
}

/** The patterns of the configuration have commands, too. */
async function addPatterns(
  { command: run, next }: FoundCommand,
  context: ProgramContext,
  argv: readonly string[],
): Promise<void> {
  const { addPatternCommands } = await import('./program-patterns.ts')
  const { loadCommandConfig } = await import('./project-config.ts')
  const isHelp = argv.includes('--help') || argv.includes('-h')
  const loaded = await loadCommandConfig(context.terminal, {
    use: isHelp ? 'help' : 'execute',
    trustProject: argv.includes('--trust-project'),
    quiet: true,
  })
  await addPatternCommands(run, Object.assign(context, loaded), next)
}

function defineProgram(program: Command, context: ProgramContext): void {
  const { out } = context.terminal
  program
    .description('Run teams of agents: durable, bounded, observable, resumable.')
    .usage('COMMAND [options]')
    .version(PACKAGE_VERSION, '-v, --version', 'print the version')
    // A command can have an option with the name of a shared one: `artifacts --version`.
    .enablePositionalOptions()
    .helpCommand(false)
    .exitOverride()
    .configureHelp({
      ...program.configureHelp(),
      subcommandTerm: (sub) => [sub.name(), ...sub.registeredArguments.map(argumentTerm)].join(' '),
    })
    .configureOutput({
      writeOut: (text) => context.terminal.print(text.trimEnd()),
      writeErr: () => {},
      getOutHelpWidth: () => out.width,
      getOutHasColors: () => false,
    })
    .addHelpText('after', () => {
      const options = program.options.filter(
        ({ helpGroupHeading = COMMON_HEADING }) => helpGroupHeading === COMMON_HEADING,
      )
      const items = options.map(({ flags, description }) => [flags, description] as const)
      return `${helpSection('Options:', items, out.width)}\nRun troupe COMMAND --help for details.`
    })
  addCommands(program, context)
}

function argumentTerm(argument: Argument): string {
  const word = argument.name().toUpperCase() + (argument.variadic ? '…' : '')
  return argument.required ? word : `[${word}]`
}
