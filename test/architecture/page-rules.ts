import type { SourceFile } from '../support/source-file.ts'
import { lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'
import { cycleViolations } from './cycles.ts'
import { duplicateExportViolations } from './duplicates.ts'
import { exportViolations } from './exports.ts'
import { importsIn } from './imports.ts'
import { nameViolations } from './names.ts'
import { parameterViolations } from './parameters.ts'
import { participleViolations } from './participles.ts'
import type { AllowedMention } from './pattern-mentions.ts'
import { patternMentionViolations } from './pattern-mentions.ts'
import { sizeViolations } from './size.ts'
import { unexplainedViolations } from './unexplained.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/*
 * The page runs in a browser under a strict content security policy: it may use the types and pure functions of the views, makes no markup
 * from strings (cross-site scripting, Trusted Types), names no other host and knows no pattern.
 */

const PACKAGES = /^react(-dom)?(\/|$)/
const SHARED = [/^src\/views\//, /^src\/surfaces\/http\/contract\.ts$/]
/** Turn strings into markup or code. */
const SINKS = new Set([
  'innerHTML',
  'outerHTML',
  'insertAdjacentHTML',
  'dangerouslySetInnerHTML',
  'createContextualFragment',
  'setHTMLUnsafe',
  'parseFromString',
  'srcdoc',
  'srcDoc',
  'eval',
  'Function',
])
/** Names that are never fetched: the namespace of SVG, and the reserved host that relative addresses are parsed against. */
const INERT_ADDRESSES = /^http:\/\/(www\.w3\.org|page\.invalid)(\/|$)/

/** English words that are also names of patterns. */
const WORDS: readonly AllowedMention[] = [
  { path: 'web/run/agent-cards.tsx', folder: 'task', reason: 'the figure of tasks on a card' },
  { path: 'web/run/cost-tab.tsx', folder: 'task', reason: 'the title of a column with agents' },
]

const houseRules = [
  cycleViolations,
  duplicateExportViolations,
  exportViolations,
  nameViolations,
  parameterViolations,
  participleViolations,
  sizeViolations,
  unexplainedViolations,
]

/** `page` holds the files of `web/`, `sources` those of `src/`. */
export function pageViolations(page: readonly SourceFile[], sources: readonly SourceFile[]): Violation[] {
  // The build runs in Node.
  const shipped = page.filter(({ path }) => !isTestFile(path) && path !== 'web/build.ts')
  const mentions = patternMentionViolations([...sources, ...shipped]).filter(
    ({ path, message }) =>
      path.startsWith('web/') &&
      !WORDS.some((word) => word.path === path && message.includes(`patterns/${word.folder}:`)),
  )
  return [
    ...houseRules.flatMap((rule) => rule(shipped)),
    ...shipped.flatMap(importViolations),
    ...shipped.flatMap(sinkViolations),
    ...mentions,
  ]
}

function importViolations(file: SourceFile): Violation[] {
  return importsIn(file).flatMap(({ specifier, target, line }) => {
    const allowed =
      target === undefined
        ? PACKAGES.test(specifier)
        : target.startsWith('web/') || SHARED.some((pattern) => pattern.test(target))
    return allowed
      ? []
      : [{ rule: 'page-import', path: file.path, line, message: `the page may not import ${specifier}` }]
  })
}

function sinkViolations(file: SourceFile): Violation[] {
  const found: Violation[] = []
  const report = (start: number, message: string) =>
    found.push({ rule: 'page-sink', path: file.path, line: lineNumberAt(file.source, start), message })
  walkTree(parseSource(file), (node) => {
    const name = node.type === 'Identifier' || node.type === 'JSXIdentifier' ? node.name : undefined
    const text = node.type === 'Literal' ? node.value : node.type === 'JSXText' ? node.value : undefined
    if (typeof name === 'string' && SINKS.has(name)) report(node.start, `uses ${name}`)
    if (typeof text === 'string' && SINKS.has(text)) report(node.start, `uses ${text}`)
    if (
      node.type === 'JSXIdentifier' &&
      (name === 'style' || name === 'iframe' || name === 'script') &&
      isElement(file, node.start)
    )
      report(node.start, `makes a <${name}> element`)
    if (typeof text === 'string' && /^(https?:)?\/\/\w/i.test(text) && !INERT_ADDRESSES.test(text))
      report(node.start, `names the address ${text}`)
  })
  return found
}

function isElement({ source }: SourceFile, start: number): boolean {
  return source[start - 1] === '<'
}
