import type { SourceFile } from '../support/source-file.ts'
import { identifierName, isNode } from '../support/syntax-tree.ts'
import type { Call, ErrorSite, Parameter } from './error-sites.ts'
import { argumentFor, ErrorReader } from './error-sites.ts'
import type { KnownNames } from './known-names.ts'
import { knownNames } from './known-names.ts'
import type { Violation } from './violation.ts'
import { isTestFile } from './violation.ts'

/** Files whose errors cannot name an option, each with the reason. */
export const allowedErrorTexts: Readonly<Record<string, string>> = {
  'src/errors.ts': 'toTroupeError: the message of a foreign error is all there is',
}

/** Factories in factories are followed this far. */
const MAX_CALL_DEPTH = 5

/** Every error has a message and a hint, and one of them names what it is about. Reports stale entries of `allowed`. */
export function errorTextViolations(
  files: readonly SourceFile[],
  allowed: Readonly<Record<string, string>>,
): Violation[] {
  const check = new ErrorTextCheck(files.filter(({ path }) => !isTestFile(path) && !path.startsWith('src/testing/')))
  const problems = check.problems()
  const paths = new Set(problems.map(({ site }) => site.path))
  const stale = Object.keys(allowed)
    .filter((path) => !paths.has(path))
    .map((path) => ({
      rule: 'error-text',
      path: 'test/architecture/error-texts.ts',
      line: 1,
      message: `all errors of ${path} name an option; remove it from the list`,
    }))
  const found = problems
    .filter(({ site }) => !Object.hasOwn(allowed, site.path))
    .map(({ site, problem }) => ({
      rule: 'error-text',
      path: site.path,
      line: site.line,
      message: `${problem}: "${site.message}" (${site.hint})`,
    }))
  return [...found, ...stale]
}

type Problem = { site: ErrorSite; problem: string }

class ErrorTextCheck {
  readonly #readers: ReadonlyMap<string, ErrorReader>
  readonly #sources: ReadonlyMap<string, string>
  readonly #calls = new Map<string, Call[]>()
  readonly #names: KnownNames

  constructor(files: readonly SourceFile[]) {
    this.#names = knownNames(files)
    this.#sources = new Map(files.map(({ path, source }) => [path, source]))
    this.#readers = new Map(files.map((file) => [file.path, new ErrorReader(file)]))
    for (const call of [...this.#readers.values()].flatMap(({ calls }) => calls)) {
      const name = calleeName(call)
      if (name !== undefined) this.#calls.set(name, [...(this.#calls.get(name) ?? []), call])
    }
  }

  problems(): Problem[] {
    const sites = (this.#calls.get('TroupeError') ?? []).map((call) => this.#reader(call.path).siteOf(call))
    const problems = sites.flatMap((site) => this.#problemsOf(site, 0))
    return [...new Map(problems.map((problem) => [`${problem.site.path}:${problem.site.line}`, problem])).values()]
  }

  #reader(path: string): ErrorReader {
    const reader = this.#readers.get(path)
    if (!reader) throw new Error(`${path} was not read`)
    return reader
  }

  /** A caller that passes no text cannot complete one: then the error itself is reported. */
  #problemsOf(site: ErrorSite, depth: number): Problem[] {
    const problem = site.passedOn ? undefined : this.#problemOf(site)
    if (problem === undefined) return []
    const { parameters } = site
    if (!parameters || parameters.message.length + parameters.hint.length === 0) return [{ site, problem }]
    const callers = depth < MAX_CALL_DEPTH ? this.#callersOf(parameters.function, site.path) : []
    if (callers.length === 0) return [{ site, problem }]
    return callers.flatMap((call) => {
      const completed = this.#completed(site, parameters, call)
      const { message, hint, hasHint, parameters: next } = completed
      const isSame = message === site.message && hint === site.hint && hasHint === site.hasHint
      return isSame && !next?.message.length && !next?.hint.length
        ? [{ site, problem }]
        : this.#problemsOf(completed, depth + 1)
    })
  }

  #problemOf({ code, message, hint, hasHint }: ErrorSite): string | undefined {
    // A defect of Troupe: no option is wrong.
    if (code === 'internal') return undefined
    if (message.trim() === '') return 'has no message'
    if (!hasHint) return 'has no hint'
    if (namesSomething(`${message} ${hint}`, this.#names)) return undefined
    return 'names no option, field, flag, file, variable or command'
  }

  #callersOf(name: string, path: string): Call[] {
    const isExported = new RegExp(`^export (async )?(function\\*?|const) ${name}\\b`, 'm').test(
      this.#sources.get(path) ?? '',
    )
    return (this.#calls.get(name) ?? []).filter((call) => isExported || call.path === path)
  }

  /** The error of a function with the texts that one caller passes. */
  #completed(site: ErrorSite, parameters: NonNullable<ErrorSite['parameters']>, call: Call): ErrorSite {
    const reader = this.#reader(call.path)
    const messages = parameters.message.map((parameter) => argumentFor(call, parameter))
    const [hint] = parameters.hint.map((parameter) => argumentFor(call, parameter))
    const caller = reader.site({ ...call, code: site.code }, messages, hint)
    const fill = (text: string, used: readonly Parameter[]) =>
      used.reduce((filled, parameter) => {
        const passed = reader.text(argumentFor(call, parameter))
        const placeholder = `\${${parameter.name}}`
        return filled.includes(placeholder)
          ? filled.replaceAll(placeholder, passed || placeholder)
          : `${filled} ${passed}`
      }, text)
    return {
      ...caller,
      message: fill(site.message, parameters.message).trim(),
      hint: fill(site.hint, parameters.hint).trim(),
      hasHint: site.hasHint || caller.hasHint,
    }
  }
}

function calleeName({ node }: Call): string | undefined {
  if (!isNode(node.callee)) return undefined
  return node.callee.type === 'MemberExpression' ? identifierName(node.callee.property) : identifierName(node.callee)
}

/** Placeholders that stand for a place: a file, a field with its problem, or a variable. */
const PLACE =
  /\$\{(formatIssues|formatFieldPath|describePath)\(|\$\{[^}]*\b(path|file_path|file|folder|field|flag|option|variables?|envVariable|\w+Variables)\b/
const FILE = /(^|[\s'"(])\.?[\w-]*\.(json|md|yaml|db|gitignore|troupe)\b/

/** Members of interfaces that are no nouns: before a value they name nothing. */
const NO_NOUN =
  /^(a|after|all|as|at|before|by|check|fetch|from|has|known|missing|next|now|over|recorded|resume|say|says|set|show|since|to|used|watch|within|write)$/

function namesSomething(text: string, { fields, flags, commands, variables }: KnownNames): boolean {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => code.match(/[\w-]+/g) ?? [])
  const plain = text.replace(/\$\{[^}]*\}/g, ' ')
  const matches = (expression: RegExp, known: ReadonlySet<string>) =>
    [...text.matchAll(expression)].some(([, name = '']) => known.has(name))
  return (
    quoted.some((word) => fields.has(word)) ||
    matches(/(--[a-z][\w-]*)/g, flags) ||
    matches(/\btroupe ([a-z]+)/g, commands) ||
    matches(/(?:^|\s)(\/[a-z]+)/g, commands) ||
    matches(/\b([A-Z][A-Z0-9_]+)\b/g, variables) ||
    // A name that is no English word needs no marks; a plain word stands before its value.
    (plain.match(/\b[a-z]+(_[a-z]+|[A-Z][a-z]+)+\b/g) ?? []).some((word) => fields.has(word)) ||
    [...text.matchAll(/\b(\w+) ['"]?\$\{/g)].some(([, word = '']) => fields.has(word) && !NO_NOUN.test(word)) ||
    PLACE.test(text) ||
    FILE.test(plain)
  )
}
