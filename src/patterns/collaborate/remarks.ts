import type { Job } from './job.ts'

/** How the answer was made of the answers. */
export type Strategy = Exclude<Job['synthesis'], 'auto'> | 'solo'

/** What was asked for and did not apply, in words: nobody should think that it did. */
export function unfollowed(job: Job, strategy: Strategy): string[] {
  const { input, mode, remarks } = job
  const said = [...remarks]
  const writes = strategy === 'best_of' || (strategy === 'coordinator' && mode !== 'hierarchical')
  if (input.coordinator_config && !writes) {
    const who = mode === 'hierarchical' ? 'the first agent writes the answer' : `${strategy} has nobody who writes`
    said.push(`coordinator_config was not used: ${who}`)
  }
  if (input.criteria !== undefined && strategy !== 'best_of') said.push('criteria were not used: they are for best_of')
  if (input.vote && strategy !== 'vote') said.push(`vote was not used: the synthesis was ${strategy}`)
  return input.cache ? [...said, ...uncached(job)] : said
}

function uncached({ context, specialists }: Job): string[] {
  const acting = specialists.filter(({ agent, reading }) => !context.onlyReads(agent, reading ? { reading } : {}))
  const names = acting.map(({ name }) => name).join(', ')
  return names === '' ? [] : [`cache was not used for what can do more than read: ${names}`]
}
