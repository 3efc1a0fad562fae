import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Pattern } from '../../index.ts'

/* Your own patterns. Loading a module executes it, so only files that the operator names with `--patterns` are loaded. */

/** The patterns that these modules export. */
export async function loadPatterns(files: readonly string[] = []): Promise<Pattern[]> {
  const loaded = await Promise.all(files.map(loadModulePatterns))
  return [...new Set(loaded.flat())]
}

/** The values of `--patterns`, before the commands of the patterns exist that would parse them. */
export function patternFiles(argv: readonly string[]): string[] {
  return argv.flatMap((word, index) => {
    if (word.startsWith('--patterns=')) return word.slice('--patterns='.length)
    return argv[index - 1] === '--patterns' ? word : []
  })
}

async function loadModulePatterns(file: string): Promise<Pattern[]> {
  const patterns = Object.values(await importModule(file)).filter(isPattern)
  if (patterns.length > 0) return patterns
  throw new TroupeError('invalid_input', `--patterns ${file}: the module exports no pattern`, {
    hint: 'export what `definePattern` returns',
  })
}

async function importModule(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return await import(pathToFileURL(resolve(file)).href)
  } catch (thrown) {
    throw new TroupeError('invalid_input', `--patterns ${file} cannot be loaded: ${toTroupeError(thrown).message}`, {
      hint: 'pass a module (.ts, .mts, .js or .mjs) that exports patterns',
      cause: thrown,
    })
  }
}

function isPattern(value: unknown): value is Pattern {
  const { name, execute, input, output } = (value ?? {}) as Partial<Pattern>
  return typeof name === 'string' && typeof execute === 'function' && input !== undefined && output !== undefined
}
