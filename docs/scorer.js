// How the search of the site ranks pages: those that explain a subject come before those that list.
const BONUS = [
  [12, "categories explaining"],
  [11, "start uncertainty lazy"],
  [10, "sparse cross-validation datasets deployment quantiles"],
  [9, "which-forest clusters samples"],
  [8, "why-exact survival anomalies rare-classes imputation boruta conversions"],
  [8, "coming-from differences add-a-criterion project"],
  [7, "boosting tuning"],
  [5, "causal validation"],
  [2, "benchmarks"],
];
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) => {
    // Records of decisions and the list of files are for those who change the code.
    if (/^(decisions\/|files$)/.test(page)) return score - 30;
    const [bonus] = BONUS.find(([, pages]) => pages.split(" ").includes(page)) || [0];
    return score + bonus;
  },
};
