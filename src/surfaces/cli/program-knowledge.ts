import type { Command } from 'commander'
import { Option } from 'commander'
import { TroupeError, unknownNameError } from '../../errors.ts'
import { addCommonOptions, parsePositiveInteger } from './program-options.ts'
import type { AddCommand } from './program-team.ts'

const KINDS = ['document', 'agent_collaboration']

/** The commands `troupe knowledge …`. */
export function addKnowledgeCommands(knowledge: Command, add: AddCommand): void {
  const load = () => import('./commands/knowledge-command.ts')
  const kind = () =>
    new Option('-k, --kind <kind>', 'documents, or resolved consultations (agent_collaboration)').choices(KINDS)
  knowledge.description('what the project knows: its documents and resolved consultations').usage('COMMAND [options]')
  add(knowledge, 'add', async (cli, paths) => (await load()).addKnowledge(cli, paths))
    .description('store Markdown and text files; a changed file is replaced, an unchanged one skipped')
    .argument('<path...>', 'files, or folders with such files')
  add(knowledge, 'search', async (cli, words) => (await load()).searchKnowledge(cli, words))
    .description('find by meaning, or by words without an embedder')
    .argument('<query...>', 'what to look for')
    .addOption(kind().default('document'))
    .option('-n, --number <count>', 'maximum number of matches (default: 5)', parsePositiveInteger)
  add(knowledge, 'list', async (cli) => (await load()).listKnowledge(cli))
    .description('list files and resolved consultations')
    .addOption(kind())
  add(knowledge, 'forget', async (cli, names) => (await load()).forgetKnowledge(cli, names))
    .description('remove files or entries; files on disk are not touched')
    .argument('[name...]', 'paths or ids, as `list` prints them')
    .option('--all', 'everything of this project')
    .option('-y, --yes', 'do not ask')
  add(knowledge, 'reindex', async (cli) => (await load()).reindexKnowledge(cli)).description(
    'make the vectors anew after a change of the embedder',
  )
  for (const command of knowledge.commands) addCommonOptions(command)
  const names = knowledge.commands.map((command) => command.name())
  knowledge.allowExcessArguments().action((_options, { args: [subcommand] }: Command) => {
    if (subcommand !== undefined)
      throw unknownNameError('invalid_input', { kind: 'knowledge command', name: subcommand, known: names })
    throw new TroupeError('invalid_input', 'the argument COMMAND is missing', {
      alternatives: names,
      hint: 'example: troupe knowledge add docs',
    })
  })
}
