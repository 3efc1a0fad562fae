import type { ScoredCandidate } from './candidate.ts'
import { estimateTokens } from './candidate.ts'
import type { CodeSnippet, PackageContent, PackageItem } from './context-package.ts'

/** The fields of a package from the chosen candidates, in the order of the conversation; adjacent passages of a text are joined. */
export function packageFields(chosen: readonly ScoredCandidate[]): PackageContent {
  const fields: PackageContent = {
    code_snippets: [],
    error_messages: [],
    attempted_solutions: [],
    conversation_excerpts: [],
    relevant_architecture_decisions: [],
    similar_past_collaborations: [],
    best_practices: [],
  }
  for (const { placement, text } of joinAdjacent(inOrder(chosen))) {
    switch (placement.field) {
      case 'code_snippets':
        fields.code_snippets.push({ ...pathOf(placement), text })
        break
      case 'conversation_excerpts':
        fields.conversation_excerpts.push({ from: placement.from, text })
        break
      case 'relevant_architecture_decisions':
        fields.relevant_architecture_decisions.push(placement.decision)
        break
      case 'similar_past_collaborations':
        fields.similar_past_collaborations.push(placement.past)
        break
      default:
        fields[placement.field].push(text)
    }
  }
  return fields
}

function pathOf({ path }: { path?: string }): Pick<CodeSnippet, 'path'> {
  return path === undefined ? {} : { path }
}

function inOrder(chosen: readonly ScoredCandidate[]): ScoredCandidate[] {
  const rank = ({ source }: ScoredCandidate) => (source === 'request' ? 0 : 1)
  return chosen.toSorted((a, b) => rank(a) - rank(b) || a.position[0] - b.position[0] || a.position[1] - b.position[1])
}

function joinAdjacent(ordered: readonly ScoredCandidate[]): ScoredCandidate[] {
  const joined: ScoredCandidate[] = []
  let previous: ScoredCandidate | undefined
  for (const candidate of ordered) {
    const last = joined.at(-1)
    if (last && previous && isNext(previous, candidate))
      joined[joined.length - 1] = { ...last, text: `${last.text}\n${candidate.text}` }
    else joined.push(candidate)
    previous = candidate
  }
  return joined
}

function isNext(a: ScoredCandidate, b: ScoredCandidate): boolean {
  return (
    a.source === b.source &&
    a.placement.field === b.placement.field &&
    ['code_snippets', 'error_messages', 'attempted_solutions', 'conversation_excerpts'].includes(a.placement.field) &&
    a.position[0] === b.position[0] &&
    a.position[1] + 1 === b.position[1]
  )
}

export function toItem({ source, origin, relevance, reason, text }: ScoredCandidate): PackageItem {
  return { source, origin, score: Math.round(relevance * 1000) / 1000, reason, tokens: estimateTokens(text) }
}
