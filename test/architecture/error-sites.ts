import type { SourceFile } from '../support/source-file.ts'
import type { Node } from '../support/syntax-tree.ts'
import { identifierName, isNode, lineNumberAt, parseSource, walkTree } from '../support/syntax-tree.ts'

/** A place that creates an error, with the source of its texts. Placeholders stay in them: `'${path}' is a folder`. */
export type ErrorSite = {
  path: string
  line: number
  code: string
  message: string
  hint: string
  /** Both texts are those of another error, which is checked where it is created. */
  passedOn: boolean
  /** False without `hint`, with an empty one, or when only the callers know it. */
  hasHint: boolean
  /** The parameters of the enclosing function that the texts contain: its callers complete the texts. */
  parameters: { function: string; message: readonly Parameter[]; hint: readonly Parameter[] } | undefined
}

/** The position of a parameter; `field` for one that is destructured from an object. */
export type Parameter = { name: string; index: number; field?: string }

export type Call = { path: string; node: Node; enclosing: Enclosing | undefined }

type Enclosing = { name: string; node: Node }

const constants = /^(Literal|TemplateLiteral|ArrayExpression|BinaryExpression|ConditionalExpression|LogicalExpression)$/
const functions = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/

/** Reads the errors and calls of one file. */
export class ErrorReader {
  readonly calls: Call[] = []
  readonly #file: SourceFile
  readonly #definitions = new Map<string, Node[]>()

  constructor(file: SourceFile) {
    this.#file = file
    const stack: Enclosing[] = []
    walkTree(parseSource(file), (node, { parent }) => {
      while (stack.length > 0 && (stack.at(-1)?.node.end ?? 0) <= node.start) stack.pop()
      const name = identifierName(node.id) ?? identifierName(parent?.key) ?? identifierName(parent?.id)
      if (functions.test(node.type) && name !== undefined) stack.push({ name, node })
      if (node.type === 'VariableDeclarator' && isNode(node.init) && name !== undefined) this.#define(name, node.init)
      if (node.type === 'FunctionDeclaration' && name !== undefined) this.#define(name, node)
      if (node.type === 'CallExpression') this.calls.push({ path: file.path, node, enclosing: stack.at(-1) })
      if (node.type === 'NewExpression' && identifierName(node.callee) === 'TroupeError') {
        this.calls.push({ path: file.path, node, enclosing: stack.at(-1) })
      }
    })
  }

  #define(name: string, node: Node): void {
    this.#definitions.set(name, [...(this.#definitions.get(name) ?? []), node])
  }

  /** The error that `new TroupeError(code, message, options)` creates. */
  siteOf({ node, enclosing }: Call): ErrorSite {
    const [code, message, options] = node.arguments as Node[]
    return this.site({ node, enclosing, code: this.text(code) }, [message], hintOf(options))
  }

  site(
    { node, enclosing, code }: { node: Node; enclosing: Enclosing | undefined; code: string },
    messages: readonly (Node | undefined)[],
    hint: Node | undefined,
  ): ErrorSite {
    const parametersIn = (nodes: readonly (Node | undefined)[]) =>
      nodes.flatMap((each) => usedParameters(enclosing?.node, each))
    return {
      path: this.#file.path,
      line: lineNumberAt(this.#file.source, node.start),
      code,
      message: messages.map((each) => this.#messageText(each, enclosing)).join(' '),
      hint: this.text(hint),
      passedOn: isMember(messages[0], 'message') && (isMember(hint, 'hint') || isSameObject(messages[0], hint)),
      hasHint: isGiven(hint) && !isParameter(enclosing?.node, hint),
      parameters: enclosing && {
        function: enclosing.name,
        message: parametersIn(messages),
        hint: parametersIn([hint]),
      },
    }
  }

  /** A message that is computed elsewhere stays as a placeholder; a parameter is completed by the callers. */
  #messageText(message: Node | undefined, enclosing: Enclosing | undefined): string {
    const text = this.text(message)
    if (text !== '' || !message || message.type === 'Literal') return text
    return isParameter(enclosing?.node, message) ? '' : this.#placeholder(message)
  }

  /** The texts in an expression. Constants are followed, and a function of the same file that is called for the text. */
  text(expression: Node | undefined, depth = 0): string {
    if (!expression || depth > 3) return ''
    const called = expression.type === 'CallExpression' ? this.#definitionOf(expression.callee as Node) : undefined
    if (called) return `${this.#placeholder(expression)} ${this.text(called, depth + 1)}`
    const parts: string[] = []
    walkTree(expression as never, (node, { parent, field }) => {
      if (node.type === 'Literal' && typeof node.value === 'string') parts.push(node.value)
      else if (node.type === 'TemplateLiteral') parts.push(this.#templateText(node))
      else if (node.type === 'Identifier' && !(parent?.type === 'MemberExpression' && field === 'property')) {
        const definition = this.#definitionOf(node)
        if (definition && constants.test(definition.type)) parts.push(this.text(definition, depth + 1))
      }
    })
    return parts.join(' ').trim()
  }

  /** The nearest definition of a name above its use, or the first one below it. */
  #definitionOf(node: Node): Node | undefined {
    const found = this.#definitions.get(identifierName(node) ?? '') ?? []
    return found.findLast(({ start }) => start < node.start) ?? found[0]
  }

  #placeholder({ start, end }: Node): string {
    return `\${${this.#file.source.slice(start, end)}}`
  }

  #templateText({ start, end }: Node): string {
    return this.#file.source.slice(start + 1, end - 1).replaceAll('\\`', '`')
  }
}

/** The value of `hint`; with a variable or a call as options, that expression. */
function hintOf(options: Node | undefined): Node | undefined {
  if (options?.type !== 'ObjectExpression') return options
  const properties = options.properties as Node[]
  const own = properties.find(({ key }) => identifierName(key) === 'hint')
  return (own?.value ?? properties.find(({ type }) => type === 'SpreadElement')?.argument) as Node | undefined
}

function isMember(expression: Node | undefined, name: string): expression is Node {
  return expression?.type === 'MemberExpression' && identifierName(expression.property) === name
}

/** `new TroupeError(record.code, record.message, record)`. */
function isSameObject(message: Node | undefined, options: Node | undefined): boolean {
  return options?.type === 'Identifier' && identifierName(message?.object) === identifierName(options)
}

function isGiven(hint: Node | undefined): boolean {
  if (hint?.type === 'ConditionalExpression') return isGiven(hint.consequent as Node) && isGiven(hint.alternate as Node)
  if (hint?.type === 'ObjectExpression') return isGiven(hintOf(hint))
  return hint !== undefined && hint.value !== ''
}

function isParameter(enclosing: Node | undefined, hint: Node | undefined): boolean {
  if (hint?.type !== 'Identifier') return false
  const hasDefault = ((enclosing?.params ?? []) as Node[]).some(
    ({ type, left, right }) =>
      type === 'AssignmentPattern' && identifierName(left) === hint.name && isGiven(right as Node),
  )
  return !hasDefault && usedParameters(enclosing, hint).length > 0
}

function usedParameters(enclosing: Node | undefined, expression: Node | undefined): Parameter[] {
  if (!enclosing || !expression) return []
  const names = new Map<string, Parameter>()
  for (const [index, parameter] of (enclosing.params as Node[]).entries()) {
    const pattern = parameter.type === 'AssignmentPattern' ? (parameter.left as Node) : parameter
    const name = identifierName(pattern)
    if (name !== undefined) names.set(name, { name, index })
    if (pattern.type !== 'ObjectPattern') continue
    for (const { key } of pattern.properties as Node[]) {
      const field = identifierName(key)
      if (field !== undefined) names.set(field, { name: field, index, field })
    }
  }
  const texts = expression.type === 'TemplateLiteral' ? (expression.expressions as Node[]) : [expression]
  return texts.flatMap((node) => (node.type === 'Identifier' ? (names.get(identifierName(node) ?? '') ?? []) : []))
}

/** The expression that a call passes for a parameter. */
export function argumentFor({ node }: Call, { index, field }: Parameter): Node | undefined {
  const argument = (node.arguments as Node[])[index]
  if (field === undefined || argument?.type !== 'ObjectExpression') return argument
  const properties = argument.properties as Node[]
  return properties.find(({ key }) => identifierName(key) === field)?.value as Node | undefined
}
