import { z } from 'zod'
import { teamSchema } from './definition.ts'

/** The JSON Schema by which editors help people write team files. */
export function teamJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(teamSchema, { io: 'input' })
  return { $schema, title: 'Troupe team', description: 'A team of agents, and who hands to whom.', ...schema }
}
