import type { Command } from 'commander'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Cli } from './cli.ts'
import { addAgentOptions, addCommonOptions, addExecutionOptions, collectValues } from './program-options.ts'

const AGENTS_OPTION_HELP = 'folder with agent files, for `uses` (TROUPE_AGENTS)'

type CommandHandler = (cli: Cli, args: string[]) => Promise<number>
export type AddCommand = (parent: Command, name: string, handler: CommandHandler) => Command

export function addTeamCommands(team: Command, add: AddCommand): void {
  team.description('check, draw and explain a team file; steer a running team').usage('COMMAND [options]')
  team.commandsGroup('Team files:')
  add(team, 'check', async (cli, [file = '']) => (await import('./commands/team-command.ts')).checkTeam(cli, file))
    .description('report problems with line and column')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .option('--strict', 'fail on warnings too')
  add(team, 'graph', async (cli, [file = '']) => (await import('./commands/team-command.ts')).drawTeam(cli, file))
    .description('draw agents and handoffs')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .option('--mermaid', 'print as Mermaid')
  add(team, 'explain', async (cli, [file = '']) => (await import('./commands/team-command.ts')).explainTeam(cli, file))
    .description('show which handoff would follow a response; runs nothing')
    .argument('<file>', 'a team in YAML')
    .option('--agents <folder>', AGENTS_OPTION_HELP)
    .requiredOption('--from <agent>', 'sender of the response: an agent, a group, or user')
    .option('--response <text>', 'text of the response')
    .option('--set <name=value>', 'set a variable; repeatable', collectValues)
    .option('--assume <text>', 'semantic condition to treat as true; repeatable', collectValues)
    .option('--deny <text>', 'semantic condition to treat as false; repeatable', collectValues)
  add(team, 'schema', async (cli) => (await import('./commands/team-command.ts')).printTeamSchema(cli)).description(
    'print the JSON Schema of team files, for editors',
  )
  addSteeringCommands(team.commandsGroup('Running teams:'), add)
  for (const command of team.commands) addCommonOptions(command)
  const names = team.commands.map((command) => command.name())
  team.allowExcessArguments().action((_options, { args: [subcommand] }: Command) => {
    if (subcommand !== undefined)
      throw unknownNameError('invalid_input', { kind: 'team command', name: subcommand, known: names })
    throw new TroupeError('invalid_input', 'the argument COMMAND is missing', {
      alternatives: names,
      hint: 'example: troupe team check FILE',
    })
  })
}

const RUN_ARGUMENT = ['<run>', 'run id or unique prefix'] as const

function addSteeringCommands(team: Command, add: AddCommand): void {
  const steer = (name: string, description: string) =>
    addExecutionOptions(
      addAgentOptions(
        add(team, name, async (cli, args) =>
          (await import('./commands/steer-command.ts')).steerCommand(cli, name, args),
        ),
      ),
    )
      .description(description)
      .argument(...RUN_ARGUMENT)
      .option('--in <path>', 'steer a sub-team, such as legal or legal/contracts')
      .option('--no-wait', 'record the action without executing the run here')
  steer('pause', 'pause before the next turn')
  steer('step', 'run one turn, then pause again')
  steer('continue', 'continue after a pause')
  steer('next', 'choose the next agent').argument('<agent>', 'an agent or group of the team; PATH/AGENT in a sub-team')
  steer('set', 'set a variable').argument('<name=value>', 'such as min_words=800')
  steer('say', 'send a message to the team')
    .argument('<text...>', 'the message')
    .option('--attach <file>', 'attach an image, a PDF or a text file; repeatable', collectValues)
}
