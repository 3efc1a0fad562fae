import { pluralize } from '../../../views/format-amount.ts'
import type { PanelBlock } from '../../../views/panel.ts'
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
  return [
    {
      kind: 'facts',
      title,
      facts: [
        { label: 'verdict', value: verdict.replaceAll('_', ' '), tone: verdict === 'approved' ? 'good' : 'bad' },
        { label: 'at', value: at, unit: 'time' },
        { label: 'tests', value: outcome('test', verification.tests_passed) },
        { label: 'type check', value: outcome('type_check', verification.type_check_passed) },
        ...overruled.map((value) => ({ label: 'overruled by the checks', value, tone: 'attention' as const })),
        ...weakened_tests.map((value) => ({ label: 'weakened test', value, tone: 'bad' as const })),
      ],
    },
    ...(summary === '' ? [] : [{ kind: 'text' as const, text: summary, claimed_by: 'reviewer' }]),
    ...(findings.length === 0 ? [] : [findingTable(findings, verdict, next)]),
  ]
}

function findingTable(findings: readonly ReviewFinding[], verdict: string, next: Review | undefined): PanelBlock {
  return {
    kind: 'table',
    columns: [
      { key: 'finding', title: 'Finding', unit: 'code' },
      { key: 'severity', title: 'Severity' },
      { key: 'category', title: 'Category' },
      { key: 'file', title: 'File', unit: 'code' },
      { key: 'line', title: 'Line', unit: 'count' },
      { key: 'state', title: 'State' },
      { key: 'description', title: 'Description' },
      { key: 'suggestion', title: 'Suggestion' },
    ],
    rows: findings.map((finding) => ({
      finding: finding.finding_id,
      severity: finding.severity,
      category: finding.category,
      file: finding.file,
      line: finding.line ?? null,
      state: findingState(finding, verdict, next),
      description: finding.description,
      suggestion: finding.suggestion ?? null,
    })),
  }
}

/** A later review tells whether a finding is still there; its words may differ, so only the same ones count as raised again. */
function findingState(finding: ReviewFinding, verdict: string, next: Review | undefined): string {
  if (!next) return verdict === 'approved' ? 'accepted' : 'open'
  const again = next.data.output.findings.some(
    ({ file, description }) => file === finding.file && description === finding.description,
  )
  return again ? 'raised again' : 'not raised again'
}
