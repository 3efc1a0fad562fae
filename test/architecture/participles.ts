import type { SourceFile } from '../support/source-file.ts'
import type { FunctionShape } from './functions.ts'
import { functionsIn } from './functions.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/** Words in -ed that are not participles; `regular` handles those in -eed. */
const plainWords = new Set('bed embed imbed red shed shred sled wed'.split(' '))

/** Regular participles; of the words in -eed only those of verbs in -ee, so that feed, need and proceed pass. */
const regular = /^(?!.*eed$).+ed$|^(agreed|disagreed|decreed|freed|guaranteed|refereed)$/

/** Irregular participles, without those that equal the imperative: cut, put, read, run, set, split. */
const irregular = new Set(
  `begun bent bitten blown bought born broken brought built caught chosen dealt done drawn driven dug eaten fallen fed
  felt flown forbidden forgiven forgotten fought found frozen given gone gotten grown heard held hidden hung kept known
  laid led left lent lost made meant met mistaken overtaken paid proven rewritten risen said seen sent shaken shot shown
  sold sought spent spoken sprung spun stolen stood struck stuck sung sunk swept sworn taken taught thought thrown told
  torn undertaken undone understood withdrawn withheld woken won worn woven written`.split(/\s+/),
)

/** A participle before one of these is still the head of the name (`settledBy`); in `cachedResult` it only qualifies a noun. */
const particles = new Set(
  `after again apart around as aside at away back before behind below beside between by down elsewhere for from here in
  into off on out over since then there through to together under until up when while with within without`.split(/\s+/),
)

export function isParticipleName(name: string): boolean {
  const [first = '', second] = name.split(/_|(?=[A-Z])/).map((word) => word.toLowerCase())
  return isParticiple(first) && (second === undefined || particles.has(second))
}

function isParticiple(word: string): boolean {
  return irregular.has(word) || (regular.test(word) && !plainWords.has(word))
}

/** Async functions named by a past participle instead of an imperative verb. */
export function participleFunctions(files: readonly SourceFile[]): FunctionShape[] {
  return files
    .filter((file) => !isTestFile(file.path))
    .flatMap(functionsIn)
    .filter(({ name, returnsPromise }) => returnsPromise && isParticipleName(name ?? ''))
}

export function participleViolations(files: readonly SourceFile[]): Violation[] {
  return participleFunctions(files).map(({ name, path, line }) => ({
    rule: 'participle',
    path,
    line,
    message: `async function ${name} is named by a participle; use an imperative verb`,
  }))
}
