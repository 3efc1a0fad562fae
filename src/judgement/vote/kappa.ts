/**
 * Kappa, the agreement beyond chance. Rows are subjects, columns are categories, cells count the raters who chose the
 * category. With `fixed` marginals the chance follows from how often each category was chosen (Fleiss); with `free`
 * marginals every category has the same chance (Randolph), which a single subject needs. `null` when it is undefined:
 * fewer than two raters or categories, or a chance agreement of 1.
 */
export function kappaStatistic(table: readonly (readonly number[])[], marginals: 'fixed' | 'free'): number | null {
  const categories = Math.max(0, ...table.map((row) => row.length))
  const rows = table.map((row) => row.map(validCount)).filter((row) => total(row) > 1)
  if (rows.length === 0 || categories < 2) return null
  const observed = total(rows.map(observedAgreement)) / rows.length
  const chance = marginals === 'free' ? 1 / categories : chanceAgreement(rows, categories)
  return chance >= 1 ? null : (observed - chance) / (1 - chance)
}

/** The share of rater pairs that agree on one subject. */
function observedAgreement(row: readonly number[]): number {
  const raters = total(row)
  return total(row.map((count) => count * (count - 1))) / (raters * (raters - 1))
}

function chanceAgreement(rows: readonly (readonly number[])[], categories: number): number {
  const all = total(rows.map(total))
  const shares = Array.from({ length: categories }, (_, column) => total(rows.map((row) => row[column] ?? 0)) / all)
  return total(shares.map((share) => share * share))
}

function validCount(count: number): number {
  return Number.isFinite(count) && count > 0 ? count : 0
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
