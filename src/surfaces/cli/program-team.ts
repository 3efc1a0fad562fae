import type { Command } from 'commander'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Cli } from './cli.ts'
import { addAgentOptions, addCommonOptions, addExecutionOptions, collectValues } from './program-options.ts'

const AGENTS_OPTION_HELP = 'agent files of your own, for `uses` (TROUPE_AGENTS)'

type CommandHandler = (cli: Cli, words: string[]) => Promise<number>
type AddCommand = (parent: Command, name: string, work: CommandHandler) => Command

/** `troupe team`: what can be done with a team file before it runs, and with a team while it works. */
export function addTeamCommands(team: Command, add: AddCommand): void {
  team.description('check, draw and explain a team; steer one that works').usage('COMMAND [options]')
  team.commandsGroup('Before it runs:')
  add(team, 'check', async (cli, [file = '']) => (await import('./commands/team-command.ts')).checkTeam(cli, file))
    .description('what is wrong with it, with line and column')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .option('--strict', 'fail on warnings too')
  add(team, 'graph', async (cli, [file = '']) => (await import('./commands/team-command.ts')).drawTeam(cli, file))
    .description('who hands to whom')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .option('--mermaid', 'as Mermaid text')
    .option('--ascii', 'without line-drawing characters')
  add(team, 'explain', async (cli, [file = '']) => (await import('./commands/team-command.ts')).explainTeam(cli, file))
    .description('what would happen after an answer; runs nothing')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .requiredOption('--from <agent>', 'who answered: an agent, a group, or user')
    .option('--response <text>', 'the answer; its words decide nothing by themselves')
    .option('--set <name=value>', 'a variable; repeatable', collectValues)
    .option('--assume <text>', 'a sentence of a condition that holds; repeatable', collectValues)
    .option('--deny <text>', 'a sentence of a condition that does not; repeatable', collectValues)
  add(team, 'schema', async (cli) => (await import('./commands/team-command.ts')).printTeamSchema(cli)).description(
    'the JSON Schema of team files, for editors',
  )
  addSteeringCommands(team.commandsGroup('While it works:'), add)
  for (const command of team.commands) addCommonOptions(command)
  const names = team.commands.map((command) => command.name())
  team.allowExcessArguments().action((_options, { args: [word] }: Command) => {
    if (word !== undefined) throw unknownNameError('invalid_input', { kind: 'team command', name: word, known: names })
    throw new TroupeError('invalid_input', 'no team command is named', {
      alternatives: names,
      hint: `such as: troupe team check FILE`,
    })
  })
}

const RUN_ARGUMENT = ['<run>', 'its id, or how the id begins'] as const

/** What people ask of a team at work; it is taken between two turns. */
function addSteeringCommands(team: Command, add: AddCommand): void {
  const steer = (name: string, about: string) =>
    addExecutionOptions(
      addAgentOptions(
        add(team, name, async (cli, words) =>
          (await import('./commands/steer-command.ts')).steerCommand(cli, name, words),
        ),
      ),
    )
      .description(about)
      .argument(...RUN_ARGUMENT)
      .option('--no-wait', 'only write it down')
  steer('pause', 'stop before the next turn')
  steer('step', 'go on for one turn, then stop again')
  steer('continue', 'go on')
  steer('next', 'choose who goes on').argument('<agent>', 'an agent or group of the team')
  steer('set', 'give a variable another value').argument('<name=value>', 'such as min_words=800')
  steer('say', 'say something to the team').argument('<text...>', 'what it is told')
}
