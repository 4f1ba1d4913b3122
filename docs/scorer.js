// How the search of the site ranks pages: those that explain come before those that list.
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
    const explain =
      /^(why-exact|sparse|lazy|cross-validation|categories|quantiles|explaining|datasets|clusters|deployment|conversions|add-a-criterion|performance)$/;
    // Records of decisions and the list of files are for those who change the code.
    if (/^(decisions\/|files$)/.test(page)) return score - 30;
    return score + (page === "start" ? 12 : explain.test(page) ? 8 : 0);
  },
};
