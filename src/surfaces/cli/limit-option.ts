import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Limits } from '../../index.ts'
import type { Cli } from './cli.ts'

/** `--limit calls=20 --limit usd=null` as limits. What each may be is the runtime's business. */
export async function limitsFrom({ options }: Cli): Promise<Partial<Limits>> {
  const given = options.limit ?? []
  if (given.length === 0) return {}
  const { DEFAULT_LIMITS } = await import('../../index.ts')
  const names = Object.keys(DEFAULT_LIMITS)
  return Object.fromEntries(
    given.map((text) => {
      const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
      if (name === '') throw invalidLimit(text, names)
      if (!names.includes(name)) throw unknownNameError('invalid_input', { kind: 'limit', name, known: names })
      if (value !== 'null' && (value.trim() === '' || !Number.isFinite(Number(value)))) throw invalidLimit(text, names)
      return [name, value === 'null' ? null : Number(value)]
    }),
  )
}

function invalidLimit(text: string, names: readonly string[]): TroupeError {
  return new TroupeError('invalid_input', `'${text}' is no limit`, {
    hint: 'write NAME=NUMBER, or NAME=null for none, such as --limit calls=20',
    alternatives: [...names],
  })
}
