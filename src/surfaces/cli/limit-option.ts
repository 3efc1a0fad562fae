import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Limits } from '../../index.ts'
import type { Cli } from './cli.ts'

/** Names of limits in specifications and the names they have here. */
const ALIASES: Readonly<Record<string, string>> = { max_recursion_depth: 'depth' }

/** Parses `--limit calls=20 --limit usd=null`. The runtime validates the ranges. */
export async function limitsFrom({ options }: Cli): Promise<Partial<Limits>> {
  const values = options.limit ?? []
  if (values.length === 0) return {}
  const { DEFAULT_LIMITS } = await import('../../index.ts')
  const names = Object.keys(DEFAULT_LIMITS)
  return Object.fromEntries(
    values.map((text) => {
      const [, given = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
      const name = ALIASES[given] ?? given
      if (name === '') throw invalidLimit(text, names)
      if (!names.includes(name)) throw unknownNameError('invalid_input', { kind: 'limit', name, known: names })
      if (value !== 'null' && (value.trim() === '' || !Number.isFinite(Number(value)))) throw invalidLimit(text, names)
      return [name, value === 'null' ? null : Number(value)]
    }),
  )
}

function invalidLimit(text: string, names: readonly string[]): TroupeError {
  return new TroupeError('invalid_input', `--limit ${text}: expected NAME=NUMBER or NAME=null`, {
    hint: 'set a limit with --limit calls=20, or remove it with --limit calls=null',
    alternatives: [...names],
  })
}
