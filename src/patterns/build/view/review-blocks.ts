import { pluralize } from '../../../views/format-amount.ts'
import type { PanelBlock } from '../../../views/panel.ts'
import type { FactEntry } from '../../../views/panel-blocks.ts'
import { presentFacts, tableBlock, textBlock } from '../../../views/panel-blocks.ts'
import type { ReviewFinding } from '../contracts.ts'
import type { BuildEventOf, BuildProgress } from './build-progress.ts'

type Review = BuildEventOf<'build:review'>

/** Review rounds, newest first, with the findings of each and what became of them. */
export function reviewBlocks({ reviews, checks }: BuildProgress): PanelBlock[] {
  return reviews
    .map((review, index) => {
      const next = reviews[index + 1]
      const blocks = roundBlocks(review, next, checks)
      return next ? blocks.map((block) => ({ ...block, detail: true as const })) : blocks
    })
    .toReversed()
    .flat()
}

function roundBlocks({ at, data }: Review, next: Review | undefined, checks: BuildProgress['checks']): PanelBlock[] {
  const { iteration, output, overruled, weakened_tests } = data
  const { verdict, findings, verification, summary } = output
  const title = `Review ${iteration}: ${findings.length === 0 ? 'no findings' : pluralize(findings.length, 'finding')}`
  const outcome = (kind: 'test' | 'type_check', passed: boolean) => {
    if (!checks.some((check) => check.kind === kind && check.iteration === iteration)) return 'none'
    return passed ? 'passed' : 'not passed'
  }
  const facts = presentFacts([
    ['verdict', verdict.replaceAll('_', ' '), '', verdict === 'approved' ? 'good' : 'bad'],
    ['at', at, 'time'],
    ['tests', outcome('test', verification.tests_passed)],
    ['type check', outcome('type_check', verification.type_check_passed)],
    ...overruled.map((value): FactEntry => ['overruled by the checks', value, '', 'attention']),
    ...weakened_tests.map((value): FactEntry => ['weakened test', value, '', 'bad']),
  ])
  return [
    { kind: 'facts', title, facts },
    ...textBlock({ claimed_by: 'reviewer' }, summary),
    ...tableBlock({}, findings, {
      finding: ['Finding', ({ finding_id }) => finding_id, 'code'],
      severity: ['Severity', ({ severity }) => severity],
      category: ['Category', ({ category }) => category],
      file: ['File', ({ file }) => file, 'code'],
      line: ['Line', ({ line }) => line, 'count'],
      state: ['State', (finding) => findingState(finding, verdict, next)],
      description: ['Description', ({ description }) => description],
      suggestion: ['Suggestion', ({ suggestion }) => suggestion],
    }),
  ]
}

/** A later review tells whether a finding is still there; its words may differ, so only the same ones count as raised again. */
function findingState(finding: ReviewFinding, verdict: string, next: Review | undefined): string {
  if (!next) return verdict === 'approved' ? 'accepted' : 'open'
  const again = next.data.output.findings.some(
    ({ file, description }) => file === finding.file && description === finding.description,
  )
  return again ? 'raised again' : 'not raised again'
}
