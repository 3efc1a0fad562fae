import type { ProjectProfile } from '../../../formats/project-profile/project-profile.ts'
import { countRedactions, redactSensitive } from '../../../judgement/redaction/redact-sensitive.ts'
import type { QueryPart } from '../../../judgement/relevance/lexical-relevance.ts'
import { terms } from '../../../judgement/relevance/lexical-relevance.ts'
import type { Embedder } from '../../../kernel/embedder.ts'
import type { Message } from '../../../kernel/model.ts'
import { packageFields, toItem } from './assemble-package.ts'
import type { ScoredCandidate } from './candidate.ts'
import { estimateTokens } from './candidate.ts'
import type { ContextPackage, LeftOutItem, RedactionCount } from './context-package.ts'
import type { ConversationMaterial } from './conversation-candidates.ts'
import { readConversation } from './conversation-candidates.ts'
import { formatContextPackage } from './package-prompt.ts'
import type { FoundDocument } from './project-candidates.ts'
import { documentCandidates, pastCandidates, profileCandidates } from './project-candidates.ts'
import type { PackageRequest } from './request-candidates.ts'
import { requestCandidates } from './request-candidates.ts'
import type { RelevanceSettings } from './score-candidates.ts'
import { scoreCandidates } from './score-candidates.ts'
import type { SelectionSettings } from './select-items.ts'
import { cutText, selectItems, summarizeLeftOut } from './select-items.ts'

/** Everything a package is made from. */
export interface PackageMaterial {
  request: PackageRequest
  agent: string
  reason: string
  messages: readonly Message[]
  profile: ProjectProfile
  documents: readonly FoundDocument[]
  similar: readonly FoundDocument[]
  budget_tokens: number
  /** Applied before the built-in redaction; knows the values of secret environment variables. */
  redact?: ((text: string) => string) | undefined
  embedder?: Embedder | undefined
  signal?: AbortSignal | undefined
  settings?: PackageSettings
}

/** Tuned by `npm run bench:package`. */
export interface PackageSettings {
  relevance: RelevanceSettings
  selection: SelectionSettings
}

/** The package from its material; pure but for the embedder. */
export async function composePackage(material: PackageMaterial): Promise<ContextPackage> {
  const { request, agent, profile, budget_tokens, embedder, signal } = material
  const redact = (text: string) => redactSensitive(material.redact?.(text) ?? text)
  const conversation = readConversation(material.messages, redact)
  const frame = packageFrame(material, { conversation, redact })
  const { scored, method } = await scoreCandidates(
    [
      ...requestCandidates(request, redact),
      ...conversation.candidates,
      ...profileCandidates(profile, agent, redact),
      ...documentCandidates(material.documents, redact),
      ...pastCandidates(material.similar, redact),
    ],
    {
      query: packageQuery(frame, request, redact),
      embedder,
      signal,
      ...(material.settings ? { settings: material.settings.relevance } : undefined),
    },
  )
  const available = budget_tokens - estimateTokens(formatContextPackage(frame))
  const present = [frame.question, frame.current_task, frame.specific_concern ?? ''].filter((text) => text !== '')
  const selection = selectItems(scored, { budget: available, present, settings: material.settings?.selection })
  return fitPackage({ ...frame, method }, { ...selection, budget_tokens, conversation })
}

interface FrameParts {
  conversation: ConversationMaterial
  redact: (text: string) => string
}

/** The package without the items that are chosen by relevance. */
function packageFrame(
  { request, reason, profile, budget_tokens }: PackageMaterial,
  { conversation, redact }: FrameParts,
): ContextPackage {
  const { question, context, collaboration_id, requesting_agent } = request
  const { specific_concern, current_task = conversation.task, relevant_files = [] } = context
  return {
    collaboration_id,
    requesting_agent,
    consultation_reason: redact(reason),
    question: cutText(redact(question), Math.floor(budget_tokens / 2)),
    ...(specific_concern === undefined
      ? undefined
      : { specific_concern: cutText(redact(specific_concern), Math.floor(budget_tokens / 8)) }),
    current_task: cutText(redact(current_task), Math.floor(budget_tokens / 8)),
    relevant_files: [...new Set(relevant_files)].slice(0, MAX_FILES).map((path) => redact(path.slice(0, 300))),
    project_type: redact(profile.project_type),
    tech_stack: profile.tech_stack.slice(0, MAX_STACK).map(redact),
    ...packageFields([]),
    items: [],
    left_out: [],
    tokens: 0,
    method: 'lexical',
    redacted: [],
  }
}

const MAX_FILES = 12
const MAX_STACK = 20
export const MAX_QUERY_CHARACTERS = 1500

function packageQuery(
  frame: ContextPackage,
  { context }: PackageRequest,
  redact: (text: string) => string,
): QueryPart[] {
  const errors = (context.error_messages ?? []).join('\n')
  return [
    { text: frame.question, weight: 1 },
    { text: frame.specific_concern ?? '', weight: 0.8 },
    { text: redact(errors), weight: 0.5 },
    { text: frame.relevant_files.join('\n'), weight: 0.4 },
    { text: frame.current_task, weight: 0.25 },
  ]
    .map(({ text, weight }) => ({ text: text.slice(0, MAX_QUERY_CHARACTERS), weight }))
    .filter(({ text }) => text !== '')
}

interface FitOptions {
  chosen: readonly ScoredCandidate[]
  left_out: readonly LeftOutItem[]
  budget_tokens: number
  conversation: ConversationMaterial
}

/** Fills the frame; while the text is over the budget, the least relevant item is left out. */
function fitPackage(
  frame: ContextPackage,
  { chosen, left_out, budget_tokens, conversation }: FitOptions,
): ContextPackage {
  const kept = [...chosen]
  const dropped: LeftOutItem[] = [...left_out]
  for (;;) {
    const filled = { ...frame, ...packageFields(kept), relevant_files: relevantFiles(frame, kept, conversation) }
    const text = formatContextPackage(filled)
    const tokens = estimateTokens(text)
    const last = tokens > budget_tokens ? kept.pop() : undefined
    if (!last)
      return {
        ...filled,
        items: kept.map(toItem),
        left_out: summarizeLeftOut(dropped),
        tokens,
        redacted: redactionCounts(text),
      }
    dropped.push({
      source: last.source,
      origin: last.origin,
      reason: 'over the token budget',
      tokens: estimateTokens(last.text),
    })
  }
}

/** The files that the asker named, those of the chosen passages, and those whose names the question mentions. */
function relevantFiles(
  frame: ContextPackage,
  chosen: readonly ScoredCandidate[],
  { files }: ConversationMaterial,
): string[] {
  const shown = chosen.flatMap(({ placement }) =>
    placement.field === 'code_snippets' && placement.path !== undefined ? [placement.path] : [],
  )
  const words = new Set(terms(`${frame.question} ${frame.specific_concern ?? ''}`))
  const mentioned = files.filter((path) => {
    const [name = ''] = /[^/\\]+$/.exec(path) ?? []
    const parts = [...terms(name.replace(/\.[^.]*$/, ''))]
    return parts.length > 0 && parts.every((part) => words.has(part))
  })
  return [...new Set([...frame.relevant_files, ...shown, ...mentioned])].slice(0, MAX_FILES)
}

function redactionCounts(text: string): RedactionCount[] {
  return [...countRedactions(text)].map(([kind, count]) => ({ kind, count }))
}
